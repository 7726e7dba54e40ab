//! Conducts a load: waits until every connection is open, lets all begin together, gathers the seconds, and
//! says when the warm-up, a stream or the load ends. A [`Team`] carries it out: the workers of this process,
//! or processes that each have a part of it. The conductor sleeps while they work.

use crate::{
    clock::{Moment, ns},
    control::{Message, Order},
    error::Error,
    gather::{Course, Merger, PartReport, Results},
    loader::{PartNow, Progress, WarmUp},
    program::Program,
    record::{Batch, Seconds},
    sample::{Broken, End, Outcome},
    spec::{Begin, Destination, Spec, is_used},
    stop::Stop,
};
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

/// How long connecting may go on without any connection being opened.
const OPENING_STALL_MAX: Duration = Duration::from_secs(30);
/// How often it is looked whether all this is to stop.
const LOOK_UP: Duration = Duration::from_millis(50);
/// How long it may go on where attempts fail: the connections of an earlier load may still be on their way
/// out.
const OPENING_FAILURE_MAX: Duration = Duration::from_secs(5);
/// "Too many connections": passes when others close theirs. Any other refusal of the server is final.
const TOO_MANY_CONNECTIONS: u16 = 1040;

/// Who carries a load out.
pub(crate) trait Team {
    /// How many deliver seconds.
    fn members(&self) -> usize;
    /// How far ahead a time must lie that an order names, so that all have heard of it before.
    fn ahead(&self) -> Duration;
    /// Gives an order to all.
    fn order(&mut self, order: Order);
    /// A second that has been merged goes back to who delivered it.
    fn give_back(&mut self, batch: Box<Batch>);
    /// Whether all are still there.
    fn check(&self) -> Result<(), Error>;
    /// Waits until all have ended, which they have been told to, and takes what they report, with their
    /// names.
    fn finish(self) -> Result<Vec<(String, PartReport)>, Error>;
}

/// Conducts a load from its opening to its end.
pub(crate) fn conduct(
    (spec, programs): (&Spec, &[Program]),
    mut team: impl Team,
    inbox: &Receiver<Message>,
    stop: &Stop,
    tell: &mut dyn FnMut(Progress) -> WarmUp,
) -> Result<Outcome, Error> {
    let opened = wait_until_open(spec, &team, inbox, stop, tell);
    let version = match opened {
        Ok(version) => version,
        Err(error) => {
            team.order(Order::Stop);
            if !matches!(error, Error::Part { .. }) {
                // the reason for giving up is the error that is returned
                let _ = team.finish();
            }
            return Err(error);
        }
    };
    let start = soon(&team);
    let mut conductor = Conductor {
        spec,
        start,
        seconds: Seconds::new(spec.warm_up, spec.interval),
        merger: Merger::new(team.members(), spec.streams.len()),
        results: Results::new(spec, programs),
        is_warm: false,
        team,
    };
    conductor.set_begins(spec.warm_up);
    conductor.team.order(Order::Start(start));
    tell(Progress::Started);
    let end = conductor.gather(inbox, stop, tell);
    let Conductor { mut team, seconds, merger, results, .. } = conductor;
    team.order(Order::Stop);
    // where one is lost, nobody waits for what the others have to tell: dropping them ends them
    let end = end?;
    let reports = team.finish()?;
    // what load hosts saw of themselves at the end
    for message in inbox.try_iter() {
        tell_seen(tell, message);
    }
    let course = Course { start, seconds: &seconds, merger: &merger, version: &version };
    Ok(results.outcome(&reports, &course, end))
}

/// Tells what a load host saw of itself, if that is the message.
fn tell_seen(tell: &mut dyn FnMut(Progress) -> WarmUp, message: Message) {
    let Message::Seen { part, connections, at, behind, seen } = message else { return };
    let ago = Duration::from_nanos(Moment::now().since(at));
    // that does not end a warm-up
    let _ = tell(Progress::Seen(PartNow { part, connections, ago, behind, seen }));
}

/// The next time of which all have heard before it comes.
fn soon(team: &impl Team) -> Moment {
    Moment::now().after(ns(team.ahead()))
}

/// A load that runs.
struct Conductor<'a, T> {
    spec: &'a Spec,
    start: Moment,
    seconds: Seconds,
    merger: Merger,
    results: Results<'a>,
    /// Whether the warm-up was told to end.
    is_warm: bool,
    team: T,
}

impl<T: Team> Conductor<'_, T> {
    /// Says when the streams begin, as far as that is known before they run; again when the warm-up ends
    /// earlier.
    fn set_begins(&mut self, warm_up: Duration) {
        let measured = self.start.after(ns(warm_up));
        for (index, stream) in self.spec.streams.iter().enumerate() {
            let at = match &stream.begin {
                Begin::Together if stream.limit.is_none() => self.start,
                Begin::Together => measured,
                Begin::After(wait) => measured.after(ns(*wait)),
                Begin::WhenDone(_) => Moment::NEVER,
            };
            self.team.order(Order::Begin { stream: index as u16, at });
        }
    }

    fn gather(
        &mut self,
        inbox: &Receiver<Message>,
        stop: &Stop,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
    ) -> Result<End, Error> {
        let mut complete = 0;
        while complete < self.seconds.count() {
            match inbox.recv_timeout(LOOK_UP) {
                Ok(Message::Second(batch)) => complete += u32::from(self.add(batch, tell)),
                Ok(Message::Done { stream, at }) => self.note_done(stream, at),
                Ok(Message::Hopeless(broken)) => return Ok(End::Failed(broken)),
                Ok(message @ Message::Seen { .. }) => tell_seen(tell, message),
                Ok(Message::Lost { part, failure }) => return Err(Error::Part { part, failure }),
                Ok(Message::Opened { .. } | Message::NotOpened { .. }) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(End::Failed(Broken::WorkerGone));
                }
            }
            if stop.is_stopped() {
                return Ok(End::Interrupted);
            }
            self.team.check()?;
        }
        Ok(End::Completed)
    }

    /// One member is done with a stream: its limit is reached, or its time is over. When all are, those that
    /// waited for it begin; when all streams with a limit are done, the load ends.
    fn note_done(&mut self, stream: usize, at: Moment) {
        if self.merger.add_done(stream, at).is_none() {
            return;
        }
        let soon = soon(&self.team);
        for (index, other) in self.spec.streams.iter().enumerate() {
            if matches!(&other.begin, Begin::WhenDone(first) if *first == self.spec.streams[stream].name) {
                self.team.order(Order::Begin { stream: index as u16, at: soon });
            }
        }
        let mut limited = self.spec.streams.iter().enumerate().filter(|(_, stream)| stream.limit.is_some());
        if limited.all(|(index, _)| self.merger.done_at(index).is_some()) {
            self.seconds.cut(soon.since(self.start));
            self.team.order(Order::End(soon));
        }
    }

    /// Adds one member's second. Returns whether that second is complete.
    fn add(&mut self, batch: Box<Batch>, tell: &mut dyn FnMut(Progress) -> WarmUp) -> bool {
        if batch.second >= self.seconds.count() {
            return false; // begun after the end had been moved
        }
        let Some(whole) = self.merger.add(batch, |batch| self.team.give_back(batch)) else { return false };
        let is_warm_up = self.seconds.phase(whole.second) == crate::sample::Phase::WarmUp;
        let mut is_warm = false;
        self.results.add(&whole, &self.seconds, &mut |sample| {
            is_warm |= tell(Progress::Sample(Box::new(sample))) == WarmUp::Done;
        });
        if is_warm && is_warm_up && !self.is_warm {
            self.end_warm_up();
        }
        self.team.give_back(whole);
        true
    }

    /// Lets the measurement begin with the next second that all workers can hear of before it comes.
    fn end_warm_up(&mut self) {
        self.is_warm = true;
        let Some(at_ns) = self.seconds.measure_soon(Moment::now().since(self.start)) else { return };
        self.seconds.measure_from(at_ns);
        self.set_begins(self.seconds.warm_up());
        self.team.order(Order::MeasureFrom { at_ns });
    }
}

/// Returns the server's version once every connection is open: what was lost again is not.
fn wait_until_open(
    spec: &Spec,
    team: &impl Team,
    inbox: &Receiver<Message>,
    stop: &Stop,
    tell: &mut dyn FnMut(Progress) -> WarmUp,
) -> Result<String, Error> {
    let lasting = spec.streams.iter().filter(|stream| stream.to != Destination::Stranger);
    let wanted: u32 = lasting.map(|stream| stream.connections + stream.idle).sum();
    let (mut opened, mut lost) = (0_u32, 0_u32);
    let gap = spec.open_rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(2.0 / rate));
    let mut patience = OPENING_STALL_MAX.max(spec.connect_timeout * 2) + gap;
    let mut last_opened = Instant::now();
    let mut last_failure = (format!("no reply within {} s", OPENING_STALL_MAX.as_secs()), 2013);
    let mut version = String::new();
    loop {
        // where all are open, only what has been said already is heard: one of them may be lost again
        let wait = if opened == wanted { Duration::ZERO } else { LOOK_UP };
        match inbox.recv_timeout(wait) {
            Ok(Message::Opened { version: greeted }) => {
                version = plain_version(greeted);
                opened += 1;
                // a server that lets everybody in and none stay makes no progress
                if lost <= wanted {
                    last_opened = Instant::now();
                }
                tell(Progress::Opening { opened, wanted });
            }
            Ok(Message::NotOpened { loss, code, was_open }) => {
                opened -= u32::from(was_open);
                lost = lost.saturating_add(u32::from(was_open));
                let is_final = !was_open && (1000..2000).contains(&code) && code != TOO_MANY_CONNECTIONS;
                patience = if is_final { Duration::ZERO } else { patience.min(OPENING_FAILURE_MAX + gap) };
                last_failure = (loss, code);
            }
            Ok(Message::Hopeless(broken)) => return Err(Error::Script(broken.to_string())),
            Ok(Message::Lost { part, failure }) => return Err(Error::Part { part, failure }),
            Ok(message @ Message::Seen { .. }) => tell_seen(tell, message),
            Ok(Message::Second(_) | Message::Done { .. }) => {}
            Err(RecvTimeoutError::Timeout) if opened == wanted => return Ok(version),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => patience = Duration::ZERO,
        }
        if stop.is_stopped() {
            return Err(Error::Interrupted);
        }
        team.check()?;
        if last_opened.elapsed() >= patience {
            let (reason, code) = last_failure;
            return Err(Error::Opening { address: addresses(spec), opened, wanted, reason, code });
        }
    }
}

/// Where the connections of a load go.
fn addresses(spec: &Spec) -> String {
    let is_used = |number| is_used(&spec.streams, number, spec.members.len());
    let used = spec.ways().enumerate().filter(|(number, _)| is_used(*number));
    used.map(|(_, target)| target.address.to_string()).collect::<Vec<_>>().join(", ")
}

/// MariaDB's greeting has 5.5.5- before the version, for the sake of old replicas.
fn plain_version(greeted: String) -> String {
    match greeted.strip_prefix("5.5.5-") {
        Some(version) if version.contains("MariaDB") => version.to_owned(),
        _ => greeted,
    }
}
