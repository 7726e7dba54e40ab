//! Writes the HTML report (or another format) of a made-up run:
//! `cargo run --example sample_report -- FILE [FORMAT [WIDTH [LANGUAGE [loads]]]]`; `loads` is a run of every
//! kind of load. Pictures stand beside it. The browser test opens it; anyone who changes the page looks at
//! it.

#[path = "../tests/support/synthetic.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared with test programs, which need more of it")]
mod synthetic;
#[path = "../tests/support/synthetic_load.rs"]
#[expect(unreachable_pub, reason = "shared with test programs")]
mod synthetic_load;

use prony::{
    analyse::analyse,
    report::{Format, Options, rendered},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("name the file to write")?;
    let format: Format = arguments.next().as_deref().unwrap_or("html").parse()?;
    let width = arguments.next().map_or(Ok(100), |width| width.parse())?;
    let language = arguments.next().as_deref().unwrap_or("en").parse()?;
    let record = match arguments.next().as_deref() {
        Some("loads") => synthetic_load::record(),
        _ => synthetic::record(),
    };
    let options = Options { width, language, pictures: Some(String::new()), ..Options::default() };
    let rendered = rendered(&record, &analyse(&record), format, &options)?;
    for picture in rendered.pictures {
        std::fs::write(std::path::Path::new(&file).with_file_name(picture.file), picture.svg)?;
    }
    std::fs::write(file, rendered.text)?;
    Ok(())
}
