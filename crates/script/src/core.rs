//! One Lua state and what a script in it can do: connections, statements, random numbers, events. The Lua
//! half of it is `prelude.lua`. Anything that waits for a server begins here; then the script yields, and
//! [`Core::resumed`] turns the reply into the values with which the script resumes.

use crate::{
    tally::{self, Bins},
    world::{Counted, World, lock},
};
use load::{
    hub::{Hub, What},
    play::{Fact, Moment, Verb},
    random::{Random, Sampler, unique, write_pattern, write_text},
    spec::Distribution,
};
use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, VecDeque},
    fmt::Write as _,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};
use wire::client::Reply;

/// "This command is not supported in the prepared statement protocol yet", and "unknown command".
const CANNOT_PREPARE: [u16; 2] = [1295, 1047];
/// Errors after which a connection is opened again: the server went away, in various words.
const GONE: [u16; 4] = [2006, 2011, 2013, 2055];
/// Pause between two attempts to reach a server that went away.
const AGAIN: Duration = Duration::from_millis(10);
/// Bytes of a statement that are kept for messages.
const SHOWN_MAX: usize = 4096;
/// Bytes of one statement of a bulk insert.
const BULK_BYTES: usize = 512 * 1024;
/// Distributions with their ranges that are remembered.
const SAMPLERS_MAX: usize = 8;

/// Shared by the states of one thread.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) hub: RefCell<Hub>,
    pub(crate) book: Book,
    /// When events of an open loop that nobody has begun were due.
    pub(crate) due: RefCell<VecDeque<Instant>>,
    /// Connections that wait for one.
    pub(crate) idle: RefCell<VecDeque<u32>>,
}

impl Local {
    pub(crate) fn new(hub: Hub, book: Book) -> Self {
        Self { hub: RefCell::new(hub), book, due: RefCell::default(), idle: RefCell::default() }
    }
}

/// Where it is noted what connections do.
#[derive(Debug)]
pub(crate) enum Book {
    /// It is counted at once.
    Tally(Arc<Counted>),
    /// It is kept, with the connection, for whoever conducts a load; so is who wants to begin an event.
    Facts { facts: RefCell<VecDeque<(u32, Fact)>>, asking: RefCell<VecDeque<u32>> },
}

/// What a script waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Nothing,
    Opening,
    Query,
    Prepare,
    Execute,
    /// A connection that was lost is opened again.
    Reopening,
    /// The pause before the next attempt.
    Pause,
    /// Statements of a connection that was opened again are prepared; this one is under way.
    Restoring(usize),
    Sleep,
    Event,
}

/// A statement that a script has prepared.
#[derive(Debug)]
pub(crate) struct Sentence {
    link: u32,
    text: Vec<u8>,
    /// The server's number; `None`: its values are written into its text.
    pub(crate) server: Option<u32>,
    /// `i`, `d` or `s` for each parameter.
    pub(crate) kinds: Vec<u8>,
    verb: Verb,
}

/// What a script resumes: a code (0 well, 1 to be ignored, 2 an error) and two numbers.
pub(crate) type Resumption = (i64, f64, f64);

/// One state.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) owner: u32,
    pub(crate) thread: u32,
    pub(crate) world: Arc<World>,
    pub(crate) local: Rc<Local>,
    random: RefCell<Random>,
    samplers: RefCell<Vec<(i64, i64, Distribution, Sampler)>>,
    awaited: Cell<Awaited>,
    /// The connection that is waited for.
    link: Cell<u32>,
    /// Where each connection goes.
    ways: RefCell<HashMap<u32, usize>>,
    error: RefCell<(u16, String, String)>,
    /// The statement under way, for messages, and what it does.
    asked: RefCell<Vec<u8>>,
    verb: Cell<Verb>,
    /// The server that all its connections go to; `None`: each goes to the next one.
    way: Option<usize>,
    pub(crate) statements: RefCell<Vec<Option<Sentence>>>,
    bulks: RefCell<HashMap<u32, Bulk>>,
    pub(crate) histograms: RefCell<Vec<Bins>>,
    /// When the event that is under way began.
    began: Cell<Option<Instant>>,
    /// When it was due.
    due: Cell<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Bulk {
    head: Vec<u8>,
    sql: Vec<u8>,
}

impl Core {
    pub(crate) fn new(
        (owner, thread): (u32, u32),
        way: Option<usize>,
        world: &Arc<World>,
        local: &Rc<Local>,
    ) -> Self {
        Self {
            owner,
            thread,
            random: RefCell::new(Random::for_connection(world.settings.random.seed, 0, thread)),
            world: Arc::clone(world),
            local: Rc::clone(local),
            samplers: RefCell::default(),
            awaited: Cell::new(Awaited::Nothing),
            link: Cell::new(0),
            ways: RefCell::default(),
            error: RefCell::default(),
            asked: RefCell::default(),
            verb: Cell::new(Verb::Other),
            way,
            statements: RefCell::default(),
            bulks: RefCell::default(),
            histograms: RefCell::default(),
            began: Cell::new(None),
            due: Cell::new(None),
        }
    }

    fn begin(&self, awaited: Awaited, link: u32) {
        self.awaited.set(awaited);
        self.link.set(link);
        if self.world.settings.dry_run && awaited != Awaited::Sleep && awaited != Awaited::Event {
            self.local.hub.borrow_mut().tell(self.owner, What::Reply(Reply::default()));
        }
    }

    fn is_dry(&self) -> bool {
        self.world.settings.dry_run
    }

    /// Opens a connection; one that the script had before is closed.
    pub(crate) fn open(&self, before: Option<u32>) -> u32 {
        let way = before.and_then(|link| self.ways.borrow().get(&link).copied());
        before.inspect(|link| self.close(*link));
        let way = way.or(self.way).unwrap_or_else(|| self.world.next_way());
        let link = if self.is_dry() {
            way as u32
        } else {
            self.local.hub.borrow_mut().open(self.owner, &self.world.settings.ways[way])
        };
        self.ways.borrow_mut().insert(link, way);
        self.begin(Awaited::Opening, link);
        link
    }

    pub(crate) fn close(&self, link: u32) {
        if self.ways.borrow_mut().remove(&link).is_some() && !self.is_dry() {
            self.local.hub.borrow_mut().close(link);
        }
        self.bulks.borrow_mut().remove(&link);
        self.statements
            .borrow_mut()
            .iter_mut()
            .filter(|statement| statement.as_ref().is_some_and(|statement| statement.link == link))
            .for_each(|statement| *statement = None);
    }

    pub(crate) fn query(&self, link: u32, sql: &[u8]) {
        self.note(sql);
        self.sending(|| Verb::of(sql));
        if !self.is_dry() {
            self.local.hub.borrow_mut().query(link, sql);
        }
        self.begin(Awaited::Query, link);
    }

    /// Keeps a fact for whoever conducts a load, where somebody does.
    #[inline]
    fn tell(&self, fact: impl FnOnce() -> Fact) {
        if let Book::Facts { facts, .. } = &self.local.book {
            facts.borrow_mut().push_back((self.owner, fact()));
        }
    }

    #[inline]
    fn sending(&self, verb: impl FnOnce() -> Verb) {
        if let Book::Facts { .. } = &self.local.book {
            self.verb.set(verb());
            self.tell(|| Fact::Sent(Moment::now()));
        }
    }

    fn note(&self, sql: &[u8]) {
        let mut asked = self.asked.borrow_mut();
        asked.clear();
        asked.extend_from_slice(&sql[..sql.len().min(SHOWN_MAX)]);
    }

    /// Begins to prepare a statement; its number, where nothing is to be waited for.
    pub(crate) fn prepare(&self, link: u32, sql: &[u8]) -> Option<u32> {
        let (text, verb) = (sql.to_vec(), Verb::of(sql));
        let sentence = Sentence { link, text, server: None, kinds: Vec::new(), verb };
        self.statements.borrow_mut().push(Some(sentence));
        if !self.world.settings.prepares || self.is_dry() {
            return Some(self.statements.borrow().len() as u32 - 1);
        }
        self.local.hub.borrow_mut().prepare(link, sql);
        self.begin(Awaited::Prepare, link);
        None
    }

    /// Executes a statement with values that are encoded already.
    pub(crate) fn execute(&self, sentence: &Sentence, values: &[wire::Value<'_>]) {
        self.sending(|| sentence.verb);
        let mut hub = self.local.hub.borrow_mut();
        match sentence.server {
            _ if self.is_dry() => {}
            Some(number) => hub.execute(sentence.link, number, values),
            None => hub.query(sentence.link, &written(&sentence.text, values)),
        }
        drop(hub);
        self.note(&sentence.text);
        self.begin(Awaited::Execute, sentence.link);
    }

    pub(crate) fn close_statement(&self, statement: u32) {
        let taken = self.statements.borrow_mut().get_mut(statement as usize).and_then(Option::take);
        if let Some(Sentence { link, server: Some(number), .. }) = taken {
            self.local.hub.borrow_mut().close_statement(link, number);
        }
    }

    pub(crate) fn bulk_init(&self, link: u32, head: &[u8]) {
        let bulk = Bulk { head: head.to_vec(), sql: Vec::new() };
        self.bulks.borrow_mut().insert(link, bulk);
    }

    /// Adds a row; whether the statement is full and has to be sent before.
    pub(crate) fn bulk_next(&self, link: u32, row: &[u8]) -> bool {
        let mut bulks = self.bulks.borrow_mut();
        let bulk = bulks.entry(link).or_default();
        if !bulk.sql.is_empty() && bulk.sql.len() + row.len() + 1 >= BULK_BYTES {
            return true;
        }
        if bulk.sql.is_empty() {
            bulk.sql.extend_from_slice(&bulk.head);
        } else {
            bulk.sql.push(b',');
        }
        bulk.sql.extend_from_slice(row);
        false
    }

    /// Sends the rows that wait; the beginning of the statement, where there are any.
    pub(crate) fn bulk_send(&self, link: u32) -> Option<Vec<u8>> {
        let sql = std::mem::take(&mut self.bulks.borrow_mut().get_mut(&link)?.sql);
        if sql.is_empty() {
            return None;
        }
        self.query(link, &sql);
        Some(self.asked.borrow().clone())
    }

    pub(crate) fn sleep(&self, length: Duration) {
        self.local.hub.borrow_mut().sleep(self.owner, Instant::now() + length);
        self.begin(Awaited::Sleep, 0);
    }

    /// Number, SQL state and message of the last error.
    pub(crate) fn error(&self) -> (u16, String, String) {
        self.error.borrow().clone()
    }

    /// Draws from a distribution.
    pub(crate) fn draw(&self, min: i64, max: i64, distribution: Distribution) -> i64 {
        let mut samplers = self.samplers.borrow_mut();
        let mut random = self.random.borrow_mut();
        let known =
            samplers.iter().find(|(low, high, how, _)| (*low, *high) == (min, max) && *how == distribution);
        if let Some((.., sampler)) = known {
            return sampler.draw(&mut random);
        }
        let sampler = Sampler::new(min, max, distribution);
        let drawn = sampler.draw(&mut random);
        if samplers.len() == SAMPLERS_MAX {
            samplers.remove(0);
        }
        samplers.push((min, max, distribution, sampler));
        drawn
    }

    pub(crate) fn words(&self) -> (f64, f64) {
        let bits = self.random.borrow_mut().bits();
        ((bits >> 32) as f64, (bits & u64::from(u32::MAX)) as f64)
    }

    pub(crate) fn unit(&self) -> f64 {
        self.random.borrow_mut().unit()
    }

    pub(crate) fn unique(&self) -> u32 {
        unique(self.world.unique.fetch_add(self.world.settings.counting.1, Ordering::Relaxed))
    }

    pub(crate) fn pattern(&self, pattern: &[u8], out: &mut Vec<u8>) {
        write_pattern(pattern, &mut self.random.borrow_mut(), out);
    }

    pub(crate) fn text(&self, min: u32, max: u32, out: &mut Vec<u8>) {
        write_text(min, max, &mut self.random.borrow_mut(), out);
    }

    /// Whether another event may begin; `None`: one has to be waited for.
    pub(crate) fn more_events(&self) -> Option<bool> {
        if let Book::Facts { asking, .. } = &self.local.book {
            asking.borrow_mut().push_back(self.owner);
            self.begin(Awaited::Event, 0);
            return None;
        }
        if self.world.is_over() {
            return Some(false);
        }
        if self.world.settings.rate > 0.0 {
            let Some(due) = self.local.due.borrow_mut().pop_front() else {
                self.local.idle.borrow_mut().push_back(self.owner);
                self.begin(Awaited::Event, 0);
                return None;
            };
            self.take(due);
        }
        Some(self.world.take_event())
    }

    fn take(&self, due: Instant) {
        self.world.queued.fetch_sub(1, Ordering::Relaxed);
        self.due.set(Some(due));
    }

    pub(crate) fn event_start(&self) {
        if let Book::Facts { .. } = &self.local.book {
            return self.tell(|| Fact::Begun(Moment::now()));
        }
        self.world.busy.fetch_add(1, Ordering::Relaxed);
        self.began.set(Some(self.due.take().unwrap_or_else(Instant::now)));
    }

    pub(crate) fn event_stop(&self) {
        let counted = match &self.local.book {
            Book::Tally(counted) => counted,
            Book::Facts { .. } => return self.tell(|| Fact::Ended(Moment::now())),
        };
        if let Some(began) = self.began.take() {
            self.world.busy.fetch_sub(1, Ordering::Relaxed);
            lock(counted).event(self.owner as usize, began.elapsed());
        }
    }

    /// Counts something that scripts count themselves, too; a load counts by facts.
    pub(crate) fn count(&self, kind: usize) {
        if let Book::Tally(counted) = &self.local.book
            && let Some(count) = lock(counted).counts.get_mut(kind)
        {
            *count += 1;
        }
    }

    /// What the script resumes; `None`: it waits for something else now.
    #[inline]
    pub(crate) fn resumed(&self, what: What) -> Option<Resumption> {
        let awaited = self.awaited.replace(Awaited::Nothing);
        match (awaited, what) {
            (Awaited::Query | Awaited::Execute, What::Reply(reply)) if reply.error.is_none() => {
                Some(self.count_reply(&reply))
            }
            (Awaited::Query | Awaited::Execute, What::Reply(reply)) => {
                let code = reply.error.map_or(0, |error| error.code);
                Some((self.refused(code, reply, awaited), 0.0, 0.0))
            }
            (Awaited::Query | Awaited::Execute, What::Lost(code, state, message)) => {
                self.lost(awaited, code, state, message)
            }
            (Awaited::Prepare, What::Reply(reply)) => Some(self.prepared(&reply)),
            (Awaited::Opening, What::Lost(code, _, message)) => {
                let way = self.ways.borrow().get(&self.link.get()).copied().unwrap_or_default();
                let place = self.world.settings.places.get(way).map_or("", String::as_str);
                let log = |text: &str| self.world.listener.log(0, text);
                log(&format!("unable to connect to MySQL server on {place}, aborting..."));
                log(&format!("error {code}: {message}"));
                self.tell(|| Fact::NotOpened(code, message));
                Some((2, 0.0, 0.0))
            }
            (Awaited::Reopening, What::Lost(..)) => self.pause(),
            (Awaited::Pause, _) => {
                self.awaited.set(Awaited::Reopening);
                self.local.hub.borrow_mut().reopen(self.link.get());
                None
            }
            (Awaited::Reopening, _) => {
                self.tell_opened();
                self.restore(0)
            }
            (Awaited::Opening, _) => {
                self.tell_opened();
                Some((0, 0.0, 0.0))
            }
            (Awaited::Restoring(done), What::Reply(_)) => {
                let number = self.local.hub.borrow().prepared(self.link.get()).map(|(number, _)| number);
                if let Some(Some(sentence)) = self.statements.borrow_mut().get_mut(done) {
                    sentence.server = number;
                }
                self.restore(done + 1)
            }
            (Awaited::Restoring(_), _) => self.pause(),
            (Awaited::Event, _) => Some((0, 0.0, 0.0)),
            (_, What::Lost(_, _, message)) => {
                self.keep_error(2013, "HY000", message);
                Some((2, 0.0, 0.0))
            }
            _ => Some((0, 0.0, 0.0)),
        }
    }

    #[inline]
    fn count_reply(&self, reply: &Reply) -> Resumption {
        let mut hub = self.local.hub.borrow_mut();
        let columns = hub.rows(self.link.get()).map_or(0, |rows| rows.columns());
        let kind = match (columns, reply.affected) {
            (0, 0) => tally::OTHER,
            (0, _) => tally::WRITE,
            _ => tally::READ,
        };
        drop(hub);
        self.count(kind);
        let (rows, affected) = (reply.rows, reply.affected);
        self.tell(|| Fact::Replied { verb: self.verb.get(), at: Moment::now(), rows, affected });
        let rows = if columns > 0 { reply.rows } else { reply.affected };
        (0, rows as f64, f64::from(columns))
    }

    /// The server said no: 1 where that is to be ignored, otherwise 2.
    fn refused(&self, code: u16, reply: Reply, awaited: Awaited) -> i64 {
        let message = self.local.hub.borrow().message(self.link.get()).to_owned();
        let state = reply.error.map(|error| error.state_text()).unwrap_or_default();
        self.tell_refused(code, reply.error.map_or(*b"HY000", |error| error.state), &message);
        self.keep_error(code, &state, message);
        // also where it ends the run unless the script lets it pass
        self.count(tally::ERROR);
        if self.world.settings.ignored.has(code) {
            return 1;
        }
        self.tell_error(awaited);
        2
    }

    fn tell_opened(&self) {
        self.tell(|| Fact::Opened(self.local.hub.borrow().opening_took(self.link.get())));
    }

    fn tell_refused(&self, code: u16, state: [u8; 5], message: &str) {
        let (verb, message) = (self.verb.get(), message.to_owned());
        self.tell(|| Fact::Refused { verb, at: Moment::now(), code, state, message });
    }

    /// The version of the server of the connection that was opened last.
    pub(crate) fn version(&self) -> String {
        self.local.hub.borrow().version(self.link.get()).to_owned()
    }

    fn keep_error(&self, code: u16, state: &str, message: String) {
        *self.error.borrow_mut() = (code, state.to_owned(), message);
    }

    fn tell_error(&self, awaited: Awaited) {
        let error = self.error.borrow();
        let text = if awaited == Awaited::Execute {
            format!(
                "mysql_stmt_execute() returned error {} ({}) for query '{}'",
                error.0,
                error.2,
                String::from_utf8_lossy(&self.asked.borrow())
            )
        } else {
            format!(
                "mysql_drv_query() returned error {} ({}) for query '{}'",
                error.0,
                error.2,
                String::from_utf8_lossy(&self.asked.borrow())
            )
        };
        self.world.listener.log(0, &text);
    }

    fn lost(&self, awaited: Awaited, code: u16, state: [u8; 5], message: String) -> Option<Resumption> {
        self.tell_refused(code, state, &message);
        self.keep_error(code, &String::from_utf8_lossy(&state), message);
        self.count(tally::ERROR);
        if !self.world.settings.ignored.has(code) || self.world.is_stopped() {
            self.tell_error(awaited);
            return Some((2, 0.0, 0.0));
        }
        if !GONE.contains(&code) {
            return Some((1, 0.0, 0.0));
        }
        self.awaited.set(Awaited::Reopening);
        self.local.hub.borrow_mut().reopen(self.link.get());
        None
    }

    fn pause(&self) -> Option<Resumption> {
        if self.world.is_over() {
            return Some((2, 0.0, 0.0));
        }
        self.awaited.set(Awaited::Pause);
        self.local.hub.borrow_mut().sleep(self.owner, Instant::now() + AGAIN);
        None
    }

    /// Prepares the statements of a connection that was opened again, from `first` on.
    fn restore(&self, first: usize) -> Option<Resumption> {
        let link = self.link.get();
        let statements = self.statements.borrow();
        let mut rest = statements.iter().enumerate().skip(first);
        let next = rest.find_map(|(index, sentence)| {
            let sentence = sentence.as_ref()?;
            (sentence.link == link && sentence.server.is_some()).then_some((index, sentence))
        });
        let Some((index, sentence)) = next else {
            self.count(tally::RECONNECT);
            return Some((1, 0.0, 0.0));
        };
        self.awaited.set(Awaited::Restoring(index));
        self.local.hub.borrow_mut().prepare(link, &sentence.text);
        None
    }

    fn prepared(&self, reply: &Reply) -> Resumption {
        let mut statements = self.statements.borrow_mut();
        let place = statements.len() - 1;
        match reply.error {
            None => {
                let number = self.local.hub.borrow().prepared(self.link.get()).map(|(number, _)| number);
                if let Some(Some(sentence)) = statements.last_mut() {
                    sentence.server = number;
                }
                (0, place as f64, 0.0)
            }
            Some(error) if CANNOT_PREPARE.contains(&error.code) => (0, place as f64, 0.0),
            Some(error) => {
                statements.pop();
                let message = self.local.hub.borrow().message(self.link.get()).to_owned();
                let log = |text: &str| self.world.listener.log(0, text);
                log("mysql_stmt_prepare() failed");
                log(&format!("MySQL error: {} \"{message}\"", error.code));
                self.keep_error(error.code, &error.state_text(), message);
                (2, 0.0, 0.0)
            }
        }
    }

    /// Whoever conducts has said whether an event begins.
    pub(crate) fn answered(&self) {
        self.awaited.set(Awaited::Nothing);
    }

    /// An event of an open loop is there, or nothing more will come: what the script resumes.
    pub(crate) fn called(&self, due: Option<Instant>) -> bool {
        self.answered();
        let Some(due) = due else { return false };
        self.take(due);
        self.world.take_event()
    }
}

/// A statement's text with its values instead of the question marks; texts in quotes, nothing escaped, as
/// sysbench has it.
fn written(text: &[u8], values: &[wire::Value<'_>]) -> Vec<u8> {
    let mut values = values.iter();
    let mut out = Vec::with_capacity(text.len() + 64);
    for byte in text {
        if *byte != b'?' {
            out.push(*byte);
            continue;
        }
        match values.next() {
            Some(wire::Value::Bytes(bytes)) => {
                out.push(b'\'');
                out.extend_from_slice(bytes);
                out.push(b'\'');
            }
            Some(value) => {
                let mut word = String::new();
                // a string takes everything
                let _ = write!(word, "{value}");
                out.extend_from_slice(word.as_bytes());
            }
            None => out.extend_from_slice(b"NULL"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Value;

    #[test]
    fn values_are_written_into_a_statement() {
        let values = [Value::Int(5), Value::Bytes(b"a b"), Value::Null];
        assert_eq!(
            written(b"UPDATE t SET c=?, d=? WHERE e=? AND f=?", &values),
            b"UPDATE t SET c=5, d='a b' WHERE e=NULL AND f=NULL"
        );
    }
}
