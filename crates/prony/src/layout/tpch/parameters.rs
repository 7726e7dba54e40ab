//! The parameters of the queries: the values with which the specification validates answers (2.4.1.4 to
//! 2.4.22.4), or values drawn by its rules (2.4.1.3 to 2.4.22.3).

use load::random::{Random, mix};
use tpchgen::distribution::Distributions;

/// The nations by key, each with the key of its region (4.2.3).
const NATIONS: [(&str, usize); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];
const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];
const SEGMENTS: [&str; 5] = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
/// Syllables of a part's type (4.2.2.13).
const TYPES: (&[&str], &[&str], &[&str]) = (
    &["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
    &["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"],
    &["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"],
);
/// Syllables of a part's container.
const CONTAINERS: (&[&str], &[&str]) =
    (&["SM", "LG", "MED", "JUMBO", "WRAP"], &["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"]);
/// The words of query 13.
const WORDS: (&[&str], &[&str]) =
    (&["special", "pending", "unusual", "express"], &["packages", "requests", "accounts", "deposits"]);

/// The parameters of all queries in a query stream: of stream 0 those of the validation, of any other drawn.
/// They depend on nothing but the stream and the scale factor, so all servers and all trials have the same.
pub(super) fn parameters(stream: u32, scale_factor: f64) -> [Vec<String>; 22] {
    if stream == 0 { validation(scale_factor) } else { Draws::new(stream).all(scale_factor) }
}

/// What query 11 takes as a share of the whole: the smaller, the more data there are.
fn share(scale_factor: f64) -> String {
    let text = format!("{:.12}", 0.0001 / scale_factor);
    text.trim_end_matches('0').to_owned()
}

fn validation(scale_factor: f64) -> [Vec<String>; 22] {
    let share = share(scale_factor);
    let all: [&[&str]; 22] = [
        &["90"],
        &["15", "BRASS", "EUROPE"],
        &["BUILDING", "1995-03-15"],
        &["1993-07-01"],
        &["ASIA", "1994-01-01"],
        &["1994-01-01", "0.06", "24"],
        &["FRANCE", "GERMANY"],
        &["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"],
        &["green"],
        &["1993-10-01"],
        &["GERMANY", &share],
        &["MAIL", "SHIP", "1994-01-01"],
        &["special", "requests"],
        &["1995-09-01"],
        &["1996-01-01"],
        &["Brand#45", "MEDIUM POLISHED", "49", "14", "23", "45", "19", "3", "36", "9"],
        &["Brand#23", "MED BOX"],
        &["300"],
        &["Brand#12", "Brand#23", "Brand#34", "1", "10", "20"],
        &["forest", "1994-01-01", "CANADA"],
        &["SAUDI ARABIA"],
        &["13", "31", "23", "29", "30", "18", "17"],
    ];
    all.map(|values| values.iter().map(|value| (*value).to_owned()).collect())
}

/// Draws by the rules.
struct Draws(Random);

impl Draws {
    fn new(stream: u32) -> Self {
        Self(Random::for_connection(mix(u64::from(stream)), 0, 0))
    }

    fn all(mut self, scale_factor: f64) -> [Vec<String>; 22] {
        let draw = &mut self;
        let first = draw.within(0, 24) as usize;
        let nation = NATIONS[first];
        [
            vec![draw.number(60, 120)],
            vec![draw.number(1, 50), draw.one(TYPES.2), draw.one(&REGIONS)],
            vec![draw.one(&SEGMENTS), format!("1995-03-{:02}", draw.within(1, 31))],
            vec![draw.month((1993, 1), (1997, 10))],
            vec![draw.one(&REGIONS), draw.year()],
            vec![draw.year(), format!("0.0{}", draw.within(2, 9)), draw.number(24, 25)],
            draw.nations(2),
            vec![nation.0.to_owned(), REGIONS[nation.1].to_owned(), draw.part_type()],
            vec![draw.colour()],
            vec![draw.month((1993, 2), (1995, 1))],
            vec![draw.nation(), share(scale_factor)],
            [draw.different(2, &MODES), vec![draw.year()]].concat(),
            vec![draw.one(WORDS.0), draw.one(WORDS.1)],
            vec![draw.month((1993, 1), (1997, 12))],
            vec![draw.month((1993, 1), (1997, 10))],
            draw.parts(),
            vec![draw.brand(), format!("{} {}", draw.one(CONTAINERS.0), draw.one(CONTAINERS.1))],
            vec![draw.number(312, 315)],
            vec![
                draw.brand(),
                draw.brand(),
                draw.brand(),
                draw.number(1, 10),
                draw.number(10, 20),
                draw.number(20, 30),
            ],
            vec![draw.colour(), draw.year(), draw.nation()],
            vec![draw.nation()],
            draw.countries(),
        ]
    }

    /// From one number to another, both included.
    fn within(&mut self, min: u64, max: u64) -> u64 {
        min + self.0.below(max - min + 1)
    }

    fn number(&mut self, min: u64, max: u64) -> String {
        self.within(min, max).to_string()
    }

    fn one(&mut self, of: &[&str]) -> String {
        of[self.0.below(of.len() as u64) as usize].to_owned()
    }

    /// So many different ones.
    fn different(&mut self, count: usize, of: &[&str]) -> Vec<String> {
        let mut left = of.to_vec();
        (0..count).map(|_| left.swap_remove(self.0.below(left.len() as u64) as usize).to_owned()).collect()
    }

    fn nations(&mut self, count: usize) -> Vec<String> {
        self.different(count, &NATIONS.map(|(name, _)| name))
    }

    fn nation(&mut self) -> String {
        self.nations(1).remove(0)
    }

    /// The first day of a month from one year and month to another, both included.
    fn month(&mut self, from: (u64, u64), to: (u64, u64)) -> String {
        let count = |(year, month): (u64, u64)| year * 12 + month - 1;
        let month = self.within(count(from), count(to));
        format!("{}-{:02}-01", month / 12, month % 12 + 1)
    }

    fn year(&mut self) -> String {
        format!("{}-01-01", self.within(1993, 1997))
    }

    fn brand(&mut self) -> String {
        format!("Brand#{}{}", self.within(1, 5), self.within(1, 5))
    }

    fn part_type(&mut self) -> String {
        format!("{} {} {}", self.one(TYPES.0), self.one(TYPES.1), self.one(TYPES.2))
    }

    fn colour(&mut self) -> String {
        let colours: Vec<&str> = Distributions::static_default().part_colors().get_values().to_vec();
        self.one(&colours)
    }

    /// Brand, type and eight sizes of query 16.
    fn parts(&mut self) -> Vec<String> {
        let mut all = vec![self.brand(), format!("{} {}", self.one(TYPES.0), self.one(TYPES.1))];
        let mut sizes: Vec<u64> = (1..=50).collect();
        all.extend((0..8).map(|_| sizes.swap_remove(self.0.below(sizes.len() as u64) as usize).to_string()));
        all
    }

    /// Seven country codes: that of a nation is 10 above its key.
    fn countries(&mut self) -> Vec<String> {
        let mut codes: Vec<u64> = (10..35).collect();
        (0..7).map(|_| codes.swap_remove(self.0.below(codes.len() as u64) as usize).to_string()).collect()
    }
}
