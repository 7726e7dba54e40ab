//! A Lua state with sysbench's API in it. The only file of this crate with unsafe code: scripts get LuaJIT's
//! `ffi`, with which they can do anything that a program can. They are trusted, as sysbench trusts them.

use crate::{
    Error,
    core::Core,
    library::Library,
    tally::Bins,
    world::{Settings, lock},
};
use load::spec::{Distributions, script::Value as Setting};
use mlua::{Function, Lua, LuaString, MultiValue, Table, Value};
use std::{rc::Rc, time::Duration};

const PRELUDE: &str = include_str!("prelude.lua");

/// What a coroutine yields while it waits; anything else is the script's own.
const WAIT: f64 = 5_786_174_201.25;

/// A state and the functions by which the program uses it.
pub(crate) struct State {
    pub(crate) lua: Lua,
    pub(crate) core: Rc<Core>,
    /// `call(f, ...)`: a message, or nil and what `f` returned.
    pub(crate) call: Function,
    /// `command(name)`: a function or nil, whether it runs on every connection, and whether the script has
    /// declared it as a command.
    pub(crate) command: Function,
    /// Takes the function that gives the texts of files.
    set_source: Function,
}

impl State {
    pub(crate) fn new(core: Rc<Core>) -> Result<Self, Error> {
        // SAFETY: scripts may use `ffi`, so nothing of memory safety is promised to begin with; whoever runs
        // a script trusts it as any other program.
        #[expect(unsafe_code, reason = "scripts of sysbench use LuaJIT's ffi")]
        let lua = unsafe { Lua::unsafe_new() };
        let functions = lua.create_table()?;
        let settings = &core.world.settings;
        set_facts(&lua, &functions, &core, settings)?;
        of_connections(&lua, &functions, &core)?;
        of_statements(&lua, &functions, &core)?;
        of_numbers(&lua, &functions, &core)?;
        of_events(&lua, &functions, &core)?;
        let api: Table = lua.load(PRELUDE).set_name("=sysbench").call(functions)?;
        let (call, command, set_source) = (api.get("call")?, api.get("command")?, api.get("set_source")?);
        let state = Self { call, command, set_source, lua, core: Rc::clone(&core) };
        state.set_path(&settings.search_path)?;
        let options = lock(&core.world.options);
        state.set_options(&options.named, &options.globals)?;
        drop(options);
        Ok(state)
    }

    /// Sets `sysbench.opt`, and the global variables of scripts that declare no options.
    pub(crate) fn set_options(
        &self,
        options: &[(String, Setting)],
        globals: &[(String, String)],
    ) -> Result<(), Error> {
        let table: Table = self.lua.globals().get::<Table>("sysbench")?.get("opt")?;
        for (name, setting) in options {
            table.set(name.as_str(), value_of(&self.lua, setting)?)?;
        }
        for (name, text) in globals {
            // numbers, too, are texts there: Lua reckons with them nevertheless
            self.lua.globals().set(name.as_str(), text.as_str())?;
        }
        Ok(())
    }

    fn set_path(&self, directories: &[String]) -> Result<(), Error> {
        let package: Table = self.lua.globals().get("package")?;
        let mut path = String::from("./?.lua;./?/init.lua");
        for directory in directories {
            path.push_str(&format!(";{directory}/?.lua"));
        }
        package.set("path", path)?;
        Ok(())
    }

    /// Gives `require` and `dofile` their scripts: those that were told beforehand, then files, which are
    /// noted, and those that are part of the program; these come first where `before_files`.
    pub(crate) fn preload(&self, library: &Library, before_files: bool) -> Result<(), Error> {
        let package: Table = self.lua.globals().get("package")?;
        let loaders: Table = package.get("loaders")?;
        let modules = library.modules;
        let find = self.lua.create_function(move |lua, name: String| {
            let Some((name, text)) = modules.iter().find(|(known, _)| *known == name) else {
                return lua.create_string(format!("\n\tno script '{name}' in Prony")).map(Value::String);
            };
            lua.load(*text).set_name(format!("@{name}.lua")).into_function().map(Value::Function)
        })?;
        let shelf = library.clone();
        let of_files = self.lua.create_function(move |lua, name: String| {
            let found = shelf.read(&name, || {
                let search: Function = lua.globals().get::<Table>("package")?.get("searchpath")?;
                let path: String = lua.globals().get::<Table>("package")?.get("path")?;
                search.call::<Option<String>>((name.as_str(), path))
            })?;
            match found {
                Some((place, text)) => {
                    lua.load(text).set_name(format!("@{place}")).into_function().map(Value::Function)
                }
                None => lua.create_string(format!("\n\tno file for '{name}'")).map(Value::String),
            }
        })?;
        loaders.raw_insert(1, of_files)?;
        if before_files {
            loaders.raw_insert(1, find)?;
        } else {
            loaders.push(find)?;
        }
        let shelf = library.clone();
        let source = self.lua.create_function(move |lua, name: String| {
            let found = shelf.read(&name, || Ok(Some(name.clone())))?;
            found.map(|(_, text)| lua.create_string(text)).transpose()
        })?;
        self.set_source.call::<()>(source)?;
        Ok(())
    }
}

fn value_of(lua: &Lua, setting: &Setting) -> mlua::Result<Value> {
    Ok(match setting {
        Setting::Nil => Value::Nil,
        Setting::Bool(on) => Value::Boolean(*on),
        Setting::Number(number) => Value::Number(*number),
        Setting::Text(text) => Value::String(lua.create_string(text)?),
        Setting::List(list) => Value::Table(lua.create_sequence_from(list.iter().map(String::as_str))?),
    })
}

/// A function of the API: a closure with its core.
macro_rules! define {
    (
        $lua:expr, $table:expr, $core:expr, $name:literal,
        |$me:ident, $arguments:pat_param| $body:expr, $kind:ty
    ) => {
        let $me = Rc::clone($core);
        $table.set($name, $lua.create_function(move |_, $arguments: $kind| Ok($body))?)?;
    };
}

fn set_facts(lua: &Lua, table: &Table, core: &Rc<Core>, settings: &Settings) -> mlua::Result<()> {
    table.set("WAIT", WAIT)?;
    table.set("tid", core.thread)?;
    table.set("driver", settings.driver.as_str())?;
    table.set("argv", lua.create_sequence_from(settings.arguments.iter().map(String::as_str))?)?;
    table.set("command", settings.command.as_deref())?;
    define!(lua, table, core, "out", |me, text| me.world.listener.out(&text.to_string_lossy()), LuaString);
    define!(
        lua,
        table,
        core,
        "log",
        |me, (level, text)| me.world.listener.log(level, &text.to_string_lossy()),
        (u8, LuaString)
    );
    define!(lua, table, core, "at_end", |me, text| me.world.set_at_end(&text), String);
    Ok(())
}

fn of_connections(lua: &Lua, table: &Table, core: &Rc<Core>) -> mlua::Result<()> {
    define!(lua, table, core, "open", |me, before| me.open(before), Option<u32>);
    define!(lua, table, core, "close", |me, link| me.close(link), u32);
    define!(lua, table, core, "query", |me, (link, sql)| me.query(link, &sql.as_bytes()), (u32, LuaString));
    define!(lua, table, core, "error", |me, _link| me.error(), u32);
    let me = Rc::clone(core);
    let fetch = lua.create_function(move |lua, link: u32| {
        let mut hub = me.local.hub.borrow_mut();
        let Some(row) = hub.rows(link).and_then(|rows| rows.next_row()) else { return Ok(None) };
        let table = lua.create_table()?;
        for (place, value) in (1..).zip(row) {
            if let Some(value) = value {
                table.raw_set(place, lua.create_string(value)?)?;
            }
        }
        Ok(Some(table))
    })?;
    table.set("fetch", fetch)?;
    let me = Rc::clone(core);
    let row = lua.create_function(move |lua, link: u32| {
        let mut hub = me.local.hub.borrow_mut();
        let Some(row) = hub.rows(link).and_then(|rows| rows.next_row()) else { return Ok(MultiValue::new()) };
        row.map(|value| match value {
            Some(value) => lua.create_string(value).map(Value::String),
            None => Ok(Value::Nil),
        })
        .collect::<mlua::Result<MultiValue>>()
    })?;
    table.set("row", row)
}

fn of_statements(lua: &Lua, table: &Table, core: &Rc<Core>) -> mlua::Result<()> {
    define!(
        lua,
        table,
        core,
        "prepare",
        |me, (link, sql)| me.prepare(link, &sql.as_bytes()),
        (u32, LuaString)
    );
    define!(
        lua,
        table,
        core,
        "bind",
        |me, (_link, statement, kinds)| {
            if let Some(Some(sentence)) = me.statements.borrow_mut().get_mut(statement as usize) {
                sentence.kinds = kinds.into_bytes();
            }
        },
        (u32, u32, String)
    );
    let me = Rc::clone(core);
    let execute = lua.create_function(move |_, (_link, statement, values): (u32, u32, MultiValue)| {
        execute(&me, statement, &values).map_err(mlua::Error::runtime)
    })?;
    table.set("execute", execute)?;
    define!(
        lua,
        table,
        core,
        "close_statement",
        |me, (_link, statement)| me.close_statement(statement),
        (u32, u32)
    );
    define!(
        lua,
        table,
        core,
        "bulk_init",
        |me, (link, head)| me.bulk_init(link, &head.as_bytes()),
        (u32, LuaString)
    );
    define!(
        lua,
        table,
        core,
        "bulk_next",
        |me, (link, row)| me.bulk_next(link, &row.as_bytes()),
        (u32, LuaString)
    );
    let me = Rc::clone(core);
    let send = lua.create_function(move |lua, link: u32| {
        me.bulk_send(link).map(|shown| lua.create_string(shown)).transpose()
    })?;
    table.set("bulk_send", send)
}

/// Why a prepared statement cannot be sent; the script is told.
#[derive(Debug, thiserror::Error)]
enum Unsent {
    #[error("the statement is closed")]
    Closed,
    #[error("parameter {place} is not a number")]
    NotANumber {
        /// Of the parameter, from 1.
        place: usize,
    },
    #[error("parameter {place} cannot be a {kind}")]
    Kind {
        /// Of the parameter, from 1.
        place: usize,
        /// As Lua calls it.
        kind: &'static str,
    },
}

/// Sends a prepared statement with values as the kinds of its parameters want them.
fn execute(core: &Core, statement: u32, values: &MultiValue) -> Result<(), Unsent> {
    let statements = core.statements.borrow();
    let Some(Some(sentence)) = statements.get(statement as usize) else {
        return Err(Unsent::Closed);
    };
    let texts: Vec<Option<mlua::BorrowedBytes>> = values
        .iter()
        .map(|value| if let Value::String(text) = value { Some(text.as_bytes()) } else { None })
        .collect();
    let mut given = Vec::with_capacity(sentence.kinds.len());
    for (place, kind) in sentence.kinds.iter().enumerate() {
        let value = values.get(place).unwrap_or(&Value::Nil);
        let text = texts.get(place).and_then(Option::as_deref);
        given.push(match (kind, value, text) {
            (_, Value::Nil, _) => wire::Value::Null,
            (b's', _, Some(bytes)) => wire::Value::Bytes(bytes),
            (b'i', Value::Integer(number), _) => wire::Value::Int(*number),
            (b'i', Value::Number(number), _) => wire::Value::Int(*number as i64),
            (b'd', Value::Integer(number), _) => wire::Value::Double(*number as f64),
            (b'd', Value::Number(number), _) => wire::Value::Double(*number),
            (b'i', Value::Boolean(on), _) => wire::Value::Int(i64::from(*on)),
            (kind, _, Some(bytes)) => {
                let number = std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse::<f64>().ok());
                let number = number.ok_or(Unsent::NotANumber { place: place + 1 })?;
                if *kind == b'i' { wire::Value::Int(number as i64) } else { wire::Value::Double(number) }
            }
            (_, other, None) => {
                return Err(Unsent::Kind { place: place + 1, kind: other.type_name() });
            }
        });
    }
    core.execute(sentence, &given);
    Ok(())
}

fn of_numbers(lua: &Lua, table: &Table, core: &Rc<Core>) -> mlua::Result<()> {
    let random = core.world.settings.random;
    // the last one is none of sysbench's
    let named = Distributions::NAMES
        .into_iter()
        .filter(|name| *name != "latest")
        .filter_map(|name| Some((format!("rand_{name}"), random.distributions.named(name)?)));
    let default = ("rand_default".to_owned(), random.default);
    for (name, distribution) in named.chain([default]) {
        let me = Rc::clone(core);
        let draw =
            move |_: &Lua, (min, max): (f64, f64)| Ok(me.draw(min as i64, max as i64, distribution) as f64);
        table.set(name, lua.create_function(draw)?)?;
    }
    define!(lua, table, core, "rand_words", |me, ()| me.words(), ());
    define!(lua, table, core, "rand_double", |me, ()| me.unit(), ());
    define!(lua, table, core, "rand_unique", |me, _ignored| f64::from(me.unique()), MultiValue);
    let me = Rc::clone(core);
    let string = move |lua: &Lua, pattern: LuaString| {
        let mut out = Vec::with_capacity(128);
        me.pattern(&pattern.as_bytes(), &mut out);
        lua.create_string(out)
    };
    table.set("rand_string", lua.create_function(string)?)?;
    let me = Rc::clone(core);
    let text = move |lua: &Lua, (min, max): (u32, u32)| {
        let mut out = Vec::new();
        me.text(min, max, &mut out);
        lua.create_string(out)
    };
    table.set("rand_varstring", lua.create_function(text)?)
}

fn of_events(lua: &Lua, table: &Table, core: &Rc<Core>) -> mlua::Result<()> {
    let me = Rc::clone(core);
    let more = move |lua: &Lua, ()| match me.more_events() {
        Some(more) => Ok(Value::Boolean(more)),
        None => Ok(Value::String(lua.create_string("wait")?)),
    };
    table.set("more_events", lua.create_function(more)?)?;
    define!(lua, table, core, "event_start", |me, ()| me.event_start(), ());
    define!(lua, table, core, "event_stop", |me, ()| me.event_stop(), ());
    define!(lua, table, core, "stopped", |me, ()| me.world.is_stopped(), ());
    define!(lua, table, core, "count", |me, kind| me.count(kind), usize);
    define!(
        lua,
        table,
        core,
        "sleep",
        |me, microseconds| me.sleep(Duration::from_secs_f64(microseconds.clamp(0.0, 1e12) / 1e6)),
        f64
    );
    define!(
        lua,
        table,
        core,
        "histogram_new",
        |me, (size, low, high)| {
            let mut histograms = me.histograms.borrow_mut();
            histograms.push(Bins::new(size, low, high));
            histograms.len() - 1
        },
        (usize, f64, f64)
    );
    define!(
        lua,
        table,
        core,
        "histogram_update",
        |me, (number, value)| {
            if let Some(bins) = me.histograms.borrow_mut().get_mut(number) {
                bins.add(value);
            }
        },
        (usize, f64)
    );
    define!(
        lua,
        table,
        core,
        "histogram_print",
        |me, number| {
            if let Some(bins) = me.histograms.borrow().get(number) {
                me.world.listener.out(&crate::histogram_text(bins));
            }
        },
        usize
    );
    Ok(())
}
