//! The end of a server's error log, for messages.

use std::{fs, path::Path};

/// Lines that are shown of a log.
const LINES_SHOWN: usize = 12;

/// The last lines of `log`, errors before the rest: a server that gives up writes many notes after the one
/// line that matters.
pub(in crate::provision) fn last_lines(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    shown(&text)
}

fn shown(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let errors: Vec<_> = lines.iter().filter(|line| is_error(line)).copied().collect();
    let chosen = if errors.is_empty() { lines } else { errors };
    if chosen.is_empty() {
        return "  (it said nothing)".to_owned();
    }
    let last = &chosen[chosen.len().saturating_sub(LINES_SHOWN)..];
    last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn is_error(line: &str) -> bool {
    line.contains("[ERROR]")
        || line.contains("Fatal error")
        || line.contains("error while loading")
        || line.starts_with("prony: ")
}

/// Whether `log` says that another process has the port.
pub(in crate::provision) fn port_was_taken(log: &str) -> bool {
    log.contains("Address already in use")
}

/// The setting that the server does not know, if that is why it ended: `unknown variable 'foo=1'`.
pub(in crate::provision) fn unknown_setting(log: &Path) -> Option<String> {
    let text = fs::read(log).ok()?;
    unknown_in(&String::from_utf8_lossy(&text))
}

fn unknown_in(text: &str) -> Option<String> {
    let words = ["unknown variable '", "unknown option '--"];
    let line = text
        .lines()
        .rev()
        .find(|line| line.contains("[ERROR]") && words.iter().any(|word| line.contains(word)))?;
    let rest = words.iter().find_map(|word| line.split_once(word))?.1;
    rest.split(['\'', '=']).next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_setting_is_found_in_the_words_of_all_generations() {
        let mariadb = "2026-01-01 10:00:00 0 [ERROR] /x/mariadbd: unknown variable 'foo=1'";
        let mysql = "2026-01-01T10:00:00Z 0 [ERROR] [MY-000067] [Server] unknown variable 'foo=1'.";
        let flag = "2026-01-01 10:00:00 0 [ERROR] /x/mariadbd: unknown option '--foo'";
        for log in [mariadb, mysql, flag] {
            assert_eq!(unknown_in(log).as_deref(), Some("foo"), "{log}");
        }
        assert_eq!(unknown_in("[Warning] unknown variable 'loose-mysqlx=OFF'"), None);
    }

    #[test]
    fn errors_go_before_notes() {
        let shown = shown("[ERROR] InnoDB: no space\n[Note] bye\n[Note] really bye\n");
        assert_eq!(shown, "  [ERROR] InnoDB: no space");
    }
}
