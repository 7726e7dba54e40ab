//! Names of settings as people write them: in one spelling, and what a mistyped one may have meant.

/// A name as `SHOW VARIABLES` has it: servers take `-` for `_`, and `loose-` before anything.
pub(in crate::provision) fn plain_name(name: &str) -> String {
    let plain = name.to_ascii_lowercase().replace('-', "_");
    plain.strip_prefix("loose_").map(str::to_owned).unwrap_or(plain)
}

/// The one of `known` that `name` was probably meant to be.
pub(in crate::provision) fn nearest(known: &[String], name: &str) -> Option<String> {
    /// Share of a name that may be mistyped.
    const DISTANCE_MAX: f64 = 0.3;
    let name = plain_name(name);
    let distance = |other: &String| strsim::damerau_levenshtein(other, &name);
    let nearest = known.iter().map(|other| plain_name(other)).min_by_key(distance)?;
    let close = (distance(&nearest) as f64) <= DISTANCE_MAX * name.len() as f64;
    close.then_some(nearest)
}

/// What `name` was probably meant to be: it is none of `known`, but one of these is almost the same.
pub(in crate::provision) fn mistyped(known: &[String], name: &str) -> Option<String> {
    /// Letters that are wrong, missing, too many or exchanged.
    const SLIPS_MAX: usize = 2;
    /// What servers take before the name of a setting.
    const PREFIXES: [&str; 4] = ["skip_", "disable_", "enable_", "maximum_"];
    let plain = plain_name(name);
    let bare = PREFIXES.iter().find_map(|prefix| plain.strip_prefix(prefix)).unwrap_or(&plain);
    let known: Vec<String> = known.iter().map(|other| plain_name(other)).collect();
    // `loose_` says that it need not be known
    if name.to_ascii_lowercase().starts_with("loose")
        || known.iter().any(|other| *other == plain || other == bare)
    {
        return None;
    }
    let distance = |other: &String| strsim::damerau_levenshtein(other, &plain);
    known.into_iter().min_by_key(distance).filter(|nearest| distance(nearest) <= SLIPS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_setting_is_recognised() {
        let known = ["max-connections".to_owned(), "max-connect-errors".to_owned(), "port".to_owned()];
        assert_eq!(nearest(&known, "max_conections").as_deref(), Some("max_connections"));
        assert_eq!(nearest(&known, "query_cache_size"), None);
    }
}
