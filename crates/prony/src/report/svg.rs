//! Charts as SVG files. The viewer that draws them in a page also runs here, in a JavaScript engine without a
//! browser, a network or files, so each chart is drawn by one piece of code.

use super::{
    Error,
    chart::{Chart, VIEWER, value},
};
use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};

/// Width of a picture, px.
const WIDTH: u32 = 720;
/// Memory that drawing may take, bytes: many times what a large chart needs.
const MEMORY_MAX: usize = 512 << 20;
/// Stack of the engine and of the thread that it runs in, bytes: an unoptimised build needs the most.
const STACK: usize = 8 << 20;

/// The picture of a chart as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Id of the chart.
    pub(super) chart: String,
    /// Name of the file, without a directory.
    pub file: String,
    /// Contents of the file.
    pub svg: String,
}

/// A picture of each chart; the names of the files begin with `prefix`.
pub(super) fn draw(charts: &[&Chart], prefix: &str) -> Result<Vec<Picture>, Error> {
    if charts.is_empty() {
        return Ok(Vec::new());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 * STACK);
        let drawn = thread.spawn_scoped(scope, || draw_all(charts, prefix));
        let drawn = drawn.map_err(|error| failed(charts[0], &error))?;
        drawn.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn draw_all(charts: &[&Chart], prefix: &str) -> Result<Vec<Picture>, Error> {
    let of_engine = |error: rquickjs::Error| failed(charts[0], &error);
    let runtime = Runtime::new().map_err(of_engine)?;
    runtime.set_memory_limit(MEMORY_MAX);
    runtime.set_max_stack_size(STACK);
    let context = Context::full(&runtime).map_err(of_engine)?;
    context.with(|engine| {
        engine.eval::<(), _>(VIEWER.as_str()).catch(&engine).map_err(|error| failed(charts[0], &error))?;
        charts.iter().map(|chart| picture(&engine, chart, prefix)).collect()
    })
}

fn picture(engine: &Ctx<'_>, chart: &Chart, prefix: &str) -> Result<Picture, Error> {
    let drawn = engine
        .globals()
        .get::<_, Function<'_>>("pronyChart")
        .and_then(|draw| draw.call((value(chart).to_string(), WIDTH)));
    let svg: String = drawn.catch(engine).map_err(|error| failed(chart, &error))?;
    Ok(Picture { chart: chart.id.clone(), file: format!("{prefix}{}.svg", chart.id), svg: svg + "\n" })
}

fn failed(chart: &Chart, reason: &impl ToString) -> Error {
    Error::Drawing { chart: chart.id.clone(), reason: reason.to_string() }
}
