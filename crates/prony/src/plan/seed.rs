//! Seeds of loads. A load that runs again with the same seed writes the same values into the same rows. If
//! those rows were not restored in between, nothing changes, and servers notice that and write nothing. So
//! every load on data that stays gets a seed of its own.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A seed that nobody has used, short enough to be typed, and exact in JSON.
#[must_use]
pub fn drawn() -> u64 {
    // keys from the system's randomness, made for tables that no attacker can predict
    RandomState::new().build_hasher().finish() >> 32
}

/// A seed from a seed and two numbers, by the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
#[must_use]
pub fn derive(seed: u64, first: u64, second: u64) -> u64 {
    [first, second].into_iter().fold(seed, |state, number| {
        let mut mixed = state.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn drawn_seeds_differ_and_can_be_written_in_json() {
        let drawn: BTreeSet<u64> = (0..100).map(|_| drawn()).collect();
        assert!(drawn.len() > 95, "{drawn:?}");
        assert!(drawn.iter().all(|&seed| seed < 1 << 32), "{drawn:?}");
    }

    #[test]
    fn a_derived_seed_depends_on_all_that_it_is_derived_from() {
        let all: BTreeSet<u64> =
            (0..4).flat_map(|a| (0..4).flat_map(move |b| (0..4).map(move |c| derive(a, b, c)))).collect();
        assert_eq!(all.len(), 64);
    }
}
