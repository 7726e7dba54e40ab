//! Circles among files: a set of files each of which uses, by way of the others, itself. They can only be
//! read together. Which file uses which is taken from the paths that it writes (`crate::`, `super::`,
//! `self::`, and a module's own children by their names); a name that a module only passes on (`pub use`)
//! counts as used where it comes from.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Folders of source whose files form no circle.
const WITHOUT_CIRCLES: &[&str] = &["load/src", "prony/src/cli"];

type Module = Vec<String>;

/// The files of a crate as modules.
struct Tree {
    /// Text without comments, strings and tests.
    texts: BTreeMap<Module, String>,
    files: BTreeMap<Module, PathBuf>,
    /// What a module passes on under its own name, and where it comes from.
    passed_on: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
}

impl Tree {
    fn new(root: &Path, sources: &[(PathBuf, String)]) -> Self {
        let mut tree = Self { texts: BTreeMap::new(), files: BTreeMap::new(), passed_on: BTreeMap::new() };
        for (path, text) in sources {
            let Ok(inner) = path.strip_prefix(root) else { continue };
            let mut module: Module =
                inner.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                module.pop();
            }
            tree.texts.insert(module.clone(), code(text));
            tree.files.insert(module, inner.to_owned());
        }
        let all: Vec<Module> = tree.texts.keys().cloned().collect();
        for module in all {
            let passed_on = tree.declared(&module, true).into_iter();
            let by_name =
                passed_on.filter_map(|path| Some((path.last()?.clone(), path))).collect::<BTreeMap<_, _>>();
            tree.passed_on.insert(module, by_name);
        }
        tree
    }

    /// Paths from the crate's root that the `use` declarations of a module name: of those that others see, or
    /// of its own.
    fn declared(&self, module: &Module, seen_by_others: bool) -> Vec<Vec<String>> {
        let text = &self.texts[module];
        let mut found = Vec::new();
        for (start, _) in text.match_indices("use ") {
            let before = &text[..start];
            if before.chars().next_back().is_some_and(|last| last.is_alphanumeric() || last == '_') {
                continue;
            }
            let line = before.rsplit([';', '}', '{', '\n']).next().unwrap_or_default().trim();
            if line.starts_with("pub") != seen_by_others {
                continue;
            }
            let Some(end) = text[start..].find(';') else { continue };
            let mut paths = Vec::new();
            spread(&text[start + 4..start + end], &[], &mut paths);
            found.extend(paths.iter().filter_map(|path| self.below_root(module, path)));
        }
        found
    }

    /// A path as it is written in `module`, from the root; `None`: it leads out of the crate.
    fn below_root(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let mut base = module.clone();
        match first.as_str() {
            "crate" => base = Vec::new(),
            "self" => {}
            "super" => drop(base.pop()?),
            child => {
                base.push(child.to_owned());
                if !self.texts.contains_key(&base) {
                    return None;
                }
            }
        }
        for part in rest {
            if part == "super" {
                base.pop()?;
            } else {
                base.push(part.clone());
            }
        }
        Some(base)
    }

    /// The module in which what a path from the root names is found.
    fn owner(&self, path: &[String]) -> Module {
        let mut path = path.to_vec();
        // a name may be passed on several times, but not for ever
        for _ in 0..8 {
            let length = (0..=path.len()).rev().find(|&length| self.texts.contains_key(&path[..length]));
            let length = length.expect("a crate has a root");
            let module = path[..length].to_vec();
            let further = path.get(length).and_then(|name| self.passed_on[&module].get(name));
            match further {
                Some(further) => path = [further.clone(), path[length + 1..].to_vec()].concat(),
                None => return module,
            }
        }
        Vec::new()
    }

    /// The modules that a module uses.
    fn used(&self, module: &Module) -> BTreeSet<Module> {
        let mut paths = self.declared(module, false);
        paths.extend(inline(&self.texts[module]).iter().filter_map(|path| self.below_root(module, path)));
        let owners = paths.iter().map(|path| self.owner(path));
        owners.filter(|owner| owner != module && !owner.is_empty()).collect()
    }

    /// Circles, each as the files in it.
    fn circles(&self) -> Vec<BTreeSet<String>> {
        let uses: BTreeMap<&Module, BTreeSet<Module>> =
            self.texts.keys().map(|module| (module, self.used(module))).collect();
        let reach = |from: &Module| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = open.pop() {
                open.extend(uses[&module].iter().filter(|next| reached.insert((*next).clone())).cloned());
            }
            reached
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            self.texts.keys().map(|module| (module, reach(module))).collect();
        let in_circle = self.texts.keys().filter(|module| reached[module].contains(*module));
        let circles: BTreeSet<BTreeSet<String>> = in_circle
            .map(|module| {
                let members = reached[module].iter().filter(|other| reached[other].contains(module));
                members.map(|member| self.files[member].display().to_string()).collect()
            })
            .collect();
        circles.into_iter().collect()
    }
}

/// Text without comments, strings and tests, so that a brace or a path in it is one of the code.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut code = String::new();
    for line in text.lines() {
        let mut is_text = false;
        let mut last = ' ';
        let line = line.replace("'\"'", "' '");
        for (at, letter) in line.char_indices() {
            if !is_text && line[at..].starts_with("//") {
                break;
            }
            if letter == '"' && last != '\\' {
                is_text = !is_text;
            } else if !is_text {
                code.push(letter);
            }
            last = if last == '\\' { ' ' } else { letter };
        }
        code.push('\n');
    }
    code
}

/// The single paths of a `use` tree: `a::{b, c::d as e, self}`.
fn spread(tree: &str, before: &[String], paths: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    if let Some((head, group)) = tree.split_once('{') {
        let names = head.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        let before: Vec<String> = before.iter().cloned().chain(names).collect();
        let group = group.trim_end().trim_end_matches('}');
        let (mut depth, mut begin) = (0, 0);
        for (at, letter) in group.char_indices() {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            if letter == ',' && depth == 0 {
                spread(&group[begin..at], &before, paths);
                begin = at + 1;
            }
        }
        // rustfmt leaves the last brace of an inner group to it
        let rest = &group[begin..];
        let missing = rest.matches('{').count() - rest.matches('}').count().min(rest.matches('{').count());
        spread(&format!("{rest}{}", "}".repeat(missing)), &before, paths);
        return;
    }
    let name = tree.split(" as ").next().unwrap_or_default();
    let names = name.split("::").map(str::trim).filter(|name| !name.is_empty() && *name != "self");
    let path: Vec<String> = before.iter().cloned().chain(names.map(str::to_owned)).collect();
    if tree.starts_with("self::") {
        paths.push(["self".to_owned()].into_iter().chain(path).collect());
    } else if !tree.is_empty() {
        paths.push(path);
    }
}

/// Paths that stand in the code itself.
fn inline(text: &str) -> Vec<Vec<String>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    // who may see something is no use of it
    let text = text.replace("pub(in crate::", "pub(in ");
    let mut paths = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut rest = text.as_str();
    while let Some(begin) = rest.find(is_part) {
        let end = rest[begin..].find(|letter| !is_part(letter)).map_or(rest.len(), |end| begin + end);
        if !(begin == 2 && rest.starts_with("::")) {
            paths.push(std::mem::take(&mut path));
        }
        path.push(rest[begin..end].to_owned());
        rest = &rest[end..];
    }
    paths.push(path);
    paths.retain(|path| path.len() > 1);
    paths
}

#[test]
fn files_form_no_circle() {
    let sources = super::sources();
    let mut wrong = Vec::new();
    for folder in WITHOUT_CIRCLES {
        // paths count from the root of the crate, also where only one of its folders is looked at
        let root =
            super::crates().join(folder.split_once("/src").map_or(*folder, |(name, _)| name)).join("src");
        let inside = super::crates().join(folder);
        let inside = inside.strip_prefix(&root).expect("a folder of source").to_owned();
        let circles = Tree::new(&root, &sources).circles();
        let is_inside = |file: &String| Path::new(file).starts_with(&inside);
        let of_folder = circles.into_iter().map(|circle| circle.into_iter().filter(is_inside).collect());
        wrong.extend(of_folder.filter(|circle: &BTreeSet<String>| circle.len() > 1));
    }
    assert!(wrong.is_empty(), "files that can only be read together: {wrong:#?}");
}

#[test]
fn circles_are_found_in_every_form() {
    let source = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
    let sources = [
        source("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use b::B;\n"),
        source("a.rs", "use crate::{\n    c::{C, Other as Name},\n    B,\n};\n"),
        source(
            "b.rs",
            "fn f() -> crate::c::C { \"crate::a::A\" } // crate::a::A\npub(in crate::a) struct B;\n",
        ),
        source("c/mod.rs", "mod inner;\nuse self::inner::I;\npub(crate) use inner::J;\n"),
        source("c/inner.rs", "use super::super::d;\nfn g() { d::h() }"),
        source("d.rs", "fn h() -> crate::c::J {}\n"),
    ];
    let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let found = |sources: &[(PathBuf, String)]| Tree::new(Path::new(""), sources).circles();
    assert_eq!(found(&sources), [files(&["c/inner.rs", "d.rs"])]);
    let mut more = sources.to_vec();
    more[2].1.push_str("#[cfg(test)]\nmod tests { use crate::a::A; }\n");
    assert_eq!(found(&more).len(), 1, "tests use what they test");
    more[4].1.push_str("fn k(parent: super::Parent) {}");
    assert_eq!(found(&more), [files(&["c/inner.rs", "c/mod.rs", "d.rs"])], "by way of a parent");
    more[2].1 = "use crate::a;\n".to_owned();
    assert!(found(&more).contains(&files(&["a.rs", "b.rs"])), "by way of a name that the root passes on");
}
