//! Versions of servers: their numbers, in order, and how a version is identified as far as settings and
//! statements differ.

/// The first three numbers of a version; those that it does not say are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version([u32; 3]);

impl Version {
    /// `Version::new(10, 11, 19)`.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self([major, minor, patch])
    }

    /// That of `10.11.19-MariaDB-0+deb12u1`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
        Self([(); 3].map(|()| numbers.next().unwrap_or(0)))
    }
}

/// Which server it is, as far as settings differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Build<'a> {
    /// `mariadb` or `mysql`.
    pub product: &'a str,
    /// Version, of which the numbers count.
    pub version: &'a str,
}

impl Build<'_> {
    /// Whether it is of `product`, not older than `from` and older than `below`, where these are given.
    #[must_use]
    pub fn is_between(self, product: Option<&str>, from: Option<&str>, below: Option<&str>) -> bool {
        let version = Version::of(self.version);
        product.is_none_or(|product| product == self.product)
            && from.is_none_or(|from| version >= Version::of(from))
            && below.is_none_or(|below| version < Version::of(below))
    }
}

/// Whether `version` is `wanted` or begins with it at a full number.
#[must_use]
pub(in crate::provision) fn fits(version: &str, wanted: &str) -> bool {
    version.strip_prefix(wanted).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_fits_its_beginning_at_whole_numbers() {
        assert!(fits("10.11.19-MariaDB", "10.11"));
        assert!(fits("10.11.19-MariaDB", "10"));
        assert!(fits("8.0.15", "8.0.15"));
        assert!(!fits("10.11.19-MariaDB", "10.1"));
        assert!(!fits("8.0.15", "5.7"));
    }

    #[test]
    fn versions_are_in_the_order_of_their_numbers() {
        assert!(Version::of("10.11.19-MariaDB-0+deb12u1") > Version::new(10, 4, 0));
        assert!(Version::of("8.0.4") < Version::of("8.0.15"));
        assert_eq!(Version::of("9.7"), Version::new(9, 7, 0));
    }
}
