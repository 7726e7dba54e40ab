//! A Lua state with the API of sysbench in it. The only file with unsafe code of this crate: scripts get
//! LuaJIT's `ffi`, with which they can do whatever a program can. They are trusted, as sysbench trusts them.

use crate::{
    Error,
    core::Core,
    tally::Bins,
    world::{Settings, Value as Setting, lock},
};
use load::spec::Distribution;
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
    /// `command(name)`: a function or nil, and whether it runs on every connection.
    pub(crate) command: Function,
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
        let state =
            Self { call: api.get("call")?, command: api.get("command")?, lua, core: Rc::clone(&core) };
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
            // numbers, too, are texts there: Lua reckons with them all the same
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

    /// Gives `require` the scripts that are part of the program: before files, or where no file has the name.
    pub(crate) fn preload(
        &self,
        modules: &'static [(&'static str, &'static str)],
        before_files: bool,
    ) -> Result<(), Error> {
        let package: Table = self.lua.globals().get("package")?;
        let loaders: Table = package.get("loaders")?;
        let find = self.lua.create_function(move |lua, name: String| {
            let Some((name, text)) = modules.iter().find(|(known, _)| *known == name) else {
                return lua.create_string(format!("\n\tno script '{name}' in Prony")).map(Value::String);
            };
            lua.load(*text).set_name(format!("@{name}.lua")).into_function().map(Value::Function)
        })?;
        if before_files {
            loaders.raw_insert(1, find)?;
        } else {
            loaders.push(find)?;
        }
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

/// Values as the kinds of their parameters want them.
fn execute(core: &Core, statement: u32, values: &MultiValue) -> Result<(), String> {
    let kinds = match core.statements.borrow().get(statement as usize) {
        Some(Some(sentence)) => sentence.kinds.clone(),
        _ => return Err("the statement is closed".to_owned()),
    };
    let texts: Vec<Option<mlua::BorrowedBytes>> = values
        .iter()
        .map(|value| if let Value::String(text) = value { Some(text.as_bytes()) } else { None })
        .collect();
    let mut given = Vec::with_capacity(kinds.len());
    for (place, kind) in kinds.iter().enumerate() {
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
                let number = number.ok_or_else(|| format!("parameter {} is not a number", place + 1))?;
                if *kind == b'i' { wire::Value::Int(number as i64) } else { wire::Value::Double(number) }
            }
            (_, other, None) => {
                return Err(format!("parameter {} cannot be a {}", place + 1, other.type_name()));
            }
        });
    }
    if core.execute(statement, &given) { Ok(()) } else { Err("the statement is closed".to_owned()) }
}

fn of_numbers(lua: &Lua, table: &Table, core: &Rc<Core>) -> mlua::Result<()> {
    let random = core.world.settings.random;
    let kinds = [
        ("rand_default", random.default),
        ("rand_uniform", Distribution::Uniform),
        ("rand_gaussian", Distribution::Gaussian { iterations: random.iterations }),
        (
            "rand_special",
            Distribution::Special {
                iterations: random.iterations,
                hot_set_percent: random.hot_percent,
                hot_draws_percent: random.hot_draws,
            },
        ),
        ("rand_pareto", Distribution::Pareto { h: random.h }),
        ("rand_zipfian", Distribution::Zipfian { exponent: random.exponent }),
    ];
    for (name, distribution) in kinds {
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
