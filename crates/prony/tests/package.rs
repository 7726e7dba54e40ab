//! What `make package` makes: that it can be installed, holds what it should, and runs where there is nothing
//! else.

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
}

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use support::require::{Need, program, require};

/// The packaging script, around the program under test; uncompressed, since that is big and soon gone.
fn package(what: &str, out: &Path) -> Output {
    packaging(what, out).output().expect("the script")
}

fn packaging(what: &str, out: &Path) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/package.sh");
    let mut command = Command::new(script);
    command.arg(what).env("OUT", out).env("PRONY_PROGRAM", env!("CARGO_BIN_EXE_prony"));
    command.env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    command
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The file of this kind that the script says it made.
fn made(said: &str, end: &str) -> PathBuf {
    let line = said.lines().find(|line| line.ends_with(end)).unwrap_or_else(|| panic!("no {end}: {said}"));
    PathBuf::from(line)
}

#[test]
fn a_program_that_is_too_large_is_not_packaged() {
    let out = tempfile::tempdir().expect("a directory");
    let size = fs::metadata(env!("CARGO_BIN_EXE_prony")).expect("the program").len();
    let refused = packaging("agent", out.path()).env("PRONY_SIZE_MAX", (size - 1).to_string()).output();
    let refused = refused.expect("the script");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains(&format!("has {size} bytes")), "{said}");
    assert!(said.contains(&format!("more than {}", size - 1)), "{said}");
    assert_eq!(fs::read_dir(out.path()).expect("the directory").count(), 0, "nothing is made");
}

#[test]
fn the_debian_package_has_program_manual_completions_and_guide() {
    let Some(()) = require(Need::Debian, program(Command::new("dpkg-deb").arg("--version"))) else {
        return;
    };
    let out = tempfile::tempdir().expect("a directory");
    let file = made(&done(&package("deb", out.path())), ".deb");
    let field = |name: &str| {
        done(&Command::new("dpkg-deb").arg("--field").arg(&file).arg(name).output().expect("dpkg-deb"))
    };
    assert_eq!(field("Version").trim(), env!("CARGO_PKG_VERSION"));
    let depends = field("Depends");
    assert!(depends.starts_with("libc6 (>= 2.") && depends.contains("libgcc-s1"), "{depends}");
    let root = out.path().join("root");
    done(&Command::new("dpkg-deb").arg("--extract").arg(&file).arg(&root).output().expect("dpkg-deb"));
    let version = done(&Command::new(root.join("usr/bin/prony")).arg("--version").output().expect("prony"));
    assert_eq!(version.trim(), concat!("prony ", env!("CARGO_PKG_VERSION")));
    for (path, holds) in [
        ("usr/share/bash-completion/completions/prony", "_prony"),
        ("usr/share/zsh/vendor-completions/_prony", "#compdef prony"),
        ("usr/share/fish/vendor_completions.d/prony.fish", "complete"),
        ("usr/share/doc/prony/docs/guide/README.md", "User guide"),
        ("usr/share/doc/prony/docs/guide/zh-CN/README.md", "用户指南"),
        ("usr/share/doc/prony/copyright", "Apache"),
    ] {
        let text = fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(text.contains(holds), "{path}");
    }
    for page in ["prony.1.gz", "prony-run.1.gz", "prony-server-fetch.1.gz"] {
        let page = root.join("usr/share/man/man1").join(page);
        let text = done(&Command::new("gzip").arg("-cd").arg(&page).output().expect("gzip"));
        assert!(text.contains(".TH prony"), "{}", page.display());
    }
}

#[test]
#[ignore = "long: makes a root file system from Debian packages"]
fn the_image_runs_where_there_is_nothing_else() {
    let is_root = program(Command::new("chroot").args(["/", "true"]));
    let here = is_root.and_then(|()| program(Command::new("mmdebstrap").arg("--version")));
    let Some(()) = require(Need::Mmdebstrap, here) else { return };
    let out = tempfile::tempdir().expect("a directory");
    let said = done(&package("image", out.path()));
    let image = out.path().join("image");
    fs::create_dir_all(image.join("root")).expect("a directory");
    let unpack = |file: &Path, to: &Path| {
        let mut command = Command::new("tar");
        done(&command.arg("-xf").arg(file).arg("-C").arg(to).output().expect("tar"));
    };
    unpack(&made(&said, ".image.tar"), &image);
    let read = |name: &str| -> serde_json::Value {
        let text = fs::read_to_string(image.join(name)).expect("it is in the image");
        serde_json::from_str(&text).expect("JSON")
    };
    let (manifest, config) = (read("manifest.json"), read("config.json"));
    let layer = image.join(manifest[0]["Layers"][0].as_str().expect("a layer"));
    let sum = done(&Command::new("sha256sum").arg(&layer).output().expect("sha256sum"));
    let stated = config["rootfs"]["diff_ids"][0].as_str().expect("a sum");
    assert_eq!(stated, format!("sha256:{}", sum.split(' ').next().expect("a sum")));
    let root = image.join("root");
    unpack(&layer, &root);
    let entry = config["config"]["Entrypoint"][0].as_str().expect("a program");
    let inside = |arguments: &[&str]| {
        done(&Command::new("chroot").arg(&root).arg(entry).args(arguments).output().expect("chroot"))
    };
    assert_eq!(inside(&["--version"]).trim(), concat!("prony ", env!("CARGO_PKG_VERSION")));
    assert!(inside(&["list", "studies"]).contains("quickstart"));
    // Debian's own, and not those that the image was made from
    let sources = fs::read_to_string(root.join("etc/apt/sources.list")).expect("sources");
    let of_debian =
        fs::read_to_string(root.join("usr/share/doc/apt/examples/sources.list")).expect("an example");
    let of_debian: Vec<&str> = of_debian.lines().filter(|line| line.starts_with("deb ")).collect();
    assert!(!of_debian.is_empty(), "the example has none");
    assert_eq!(sources.lines().collect::<Vec<_>>(), of_debian);
}

#[test]
#[ignore = "long: builds an image"]
fn the_containerfile_makes_a_small_image_that_runs() {
    let is_root = program(Command::new("chroot").args(["/", "true"]));
    let here = is_root.and_then(|()| program(Command::new("buildah").arg("--version")));
    let Some(()) = require(Need::Buildah, here) else { return };
    let out = tempfile::tempdir().expect("a directory");
    let archive = made(&done(&package("agent", out.path())), ".image.tar");
    assert!(archive.exists());
    let buildah = |arguments: &[&str]| {
        let mut command = Command::new("buildah");
        command
            .arg("--root")
            .arg(out.path().join("storage"))
            .arg("--runroot")
            .arg(out.path().join("running"));
        done(&command.args(["--storage-driver", "vfs"]).args(arguments).output().expect("buildah"))
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/Containerfile");
    let (file, context) = (file.to_string_lossy(), out.path().to_string_lossy());
    buildah(&["build", "--isolation", "chroot", "--file", &file, "--tag", "tested", &context]);
    let config = buildah(&["inspect", "--type", "image", "--format", "{{.OCIv1.Config.User}}", "tested"]);
    assert_eq!(config.trim(), "65532:65532");
    let container = buildah(&["from", "--pull-never", "tested"]);
    let root = buildah(&["mount", container.trim()]);
    let mut version = Command::new("chroot");
    version.args(["--userspec=65532:65532", root.trim(), "/usr/bin/prony", "--version"]);
    let version = done(&version.output().expect("chroot"));
    assert_eq!(version.trim(), concat!("prony ", env!("CARGO_PKG_VERSION")));
    // nothing but the program, the C library and what names need
    let files = done(&Command::new("find").arg(root.trim()).args(["-type", "f"]).output().expect("find"));
    assert!(files.lines().count() < 20, "{files}");
    assert!(!files.contains("/bin/sh"), "{files}");
    buildah(&["rm", "--all"]);
}
