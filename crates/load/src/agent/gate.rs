//! The agent's side: admits callers, one run at a time, and starts a process for each part of a load. Bytes
//! pass through; only the load itself is read, once, to check it against the agent's limits.

use super::{
    ANSWER_MAX, Answer, Call, Host, Purpose, SILENCE_MAX, Wants,
    sealed::{self, Ear, Mouth},
};
use crate::{
    clock::Moment,
    error::PartFailure,
    frame::{self, Hello, Said, Told},
    parts::Link,
    tls::Identity,
};
use rustls::{ServerConfig, ServerConnection};
use std::{
    convert::Infallible,
    io::{self, Write},
    net::{IpAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Most connections at the same time: two of a run, and others that learn that the agent is busy.
const VISITS_MAX: usize = 16;
/// How long a process that is no longer needed may take to end.
const END_MAX: Duration = Duration::from_secs(5);

/// What carries parts of loads out.
pub trait Agent: Send + Sync {
    /// What it is.
    fn host(&self) -> Host;

    /// Starts a process that calls [`crate::part::serve`].
    ///
    /// # Errors
    /// Where that is not possible.
    fn start(&self) -> io::Result<Link>;

    /// Tells what happens.
    fn tell(&self, event: &Event<'_>);
}

/// What happens at an agent.
#[derive(Debug)]
pub enum Event<'a> {
    /// It is a run's now.
    Held {
        /// Whose.
        run: &'a str,
        /// From where it calls.
        from: IpAddr,
    },
    /// A part of a load begins.
    Load {
        /// Whose.
        run: &'a str,
        /// What it asks.
        wants: &'a Wants,
    },
    /// It is over.
    Over {
        /// Whose.
        run: &'a str,
    },
    /// It is free again.
    Freed {
        /// Whose it was.
        run: &'a str,
    },
    /// A caller was sent away, or is no caller.
    Refused {
        /// From where.
        from: IpAddr,
        /// Why.
        why: &'a str,
    },
}

/// Serves callers at `listener`.
///
/// # Errors
/// Where `identity` is none of a server, or the listener fails.
pub fn serve(
    listener: &TcpListener,
    identity: &Identity,
    agent: impl Agent + 'static,
) -> io::Result<Infallible> {
    let config = identity.server().map_err(io::Error::other)?;
    let gate =
        Arc::new(Gate { config, agent: Box::new(agent), seat: Mutex::default(), changed: Condvar::new() });
    loop {
        let (socket, from) = match listener.accept() {
            Ok(accepted) => accepted,
            // a caller that is gone already, or no file left: others may still come
            Err(_) => {
                thread::sleep(Duration::from_millis(50));
                continue;
            }
        };
        let visitor = Arc::clone(&gate);
        // each visit has a clone, and so has this one
        if Arc::strong_count(&gate) > VISITS_MAX + 1 {
            continue;
        }
        let visit = move || {
            if let Err(error) = visitor.visit(socket, from.ip()) {
                visitor.agent.tell(&Event::Refused { from: from.ip(), why: &error.to_string() });
            }
        };
        thread::Builder::new().name("visit".to_owned()).spawn(visit)?;
    }
}

struct Gate {
    config: Arc<ServerConfig>,
    agent: Box<dyn Agent>,
    seat: Mutex<Seat>,
    changed: Condvar,
}

/// Whose the agent is.
#[derive(Default)]
struct Seat {
    /// Name and token of the run; `None`: nobody's.
    run: Option<(String, u64)>,
    /// Its connections.
    connections: usize,
    /// Whether a load runs.
    is_loaded: bool,
}

/// A connection of the run that the agent belongs to. It may send the load.
struct Guest<'a> {
    gate: &'a Gate,
    run: String,
    is_loading: bool,
}

impl Gate {
    fn seat(&self) -> MutexGuard<'_, Seat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn visit(&self, socket: TcpStream, from: IpAddr) -> io::Result<()> {
        let tls = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        let (mut ear, mut mouth, _) = sealed::open(socket, tls.into(), ANSWER_MAX)?;
        frame::write(&mut mouth, &Hello::ours())?;
        let Some(call) = frame::read::<Call>(&mut ear)? else { return Ok(()) };
        let guest = match self.admit(&call, from) {
            Ok(guest) => guest,
            Err(failure) => {
                let why = format!("{} was refused: {failure}", call.run);
                self.agent.tell(&Event::Refused { from, why: &why });
                return frame::write(&mut mouth, &Answer::Refused(failure));
            }
        };
        frame::write(&mut mouth, &Answer::Welcome(self.agent.host()))?;
        ear.set_patience(Some(SILENCE_MAX))?;
        if guest.is_loading {
            self.carry_out(&guest.run, &mut ear, mouth);
        } else {
            // the agent is the run's as long as it is heard
            while let Ok(Some(Told::Clock(asked))) = frame::read::<Told>(&mut ear) {
                if frame::write(&mut mouth, &Said::Clock { asked, there: Moment::now() }).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Gives a caller its seat.
    fn admit(&self, call: &Call, from: IpAddr) -> Result<Guest<'_>, PartFailure> {
        if let Purpose::Hold(wants) = &call.purpose {
            self.agent.host().limits.check(wants).map_err(PartFailure::Forbidden)?;
        }
        let own = (call.run.clone(), call.token);
        let is_loading = matches!(call.purpose, Purpose::Load);
        let deadline = Instant::now() + END_MAX;
        let mut seat = self.seat();
        // the last load of the same run may still be ending
        while let Some(other) = seat.run.as_ref().filter(|run| **run != own || is_loading && seat.is_loaded) {
            let left = deadline.saturating_duration_since(Instant::now());
            if *other != own || left.is_zero() {
                return Err(PartFailure::Busy { run: other.0.clone() });
            }
            seat = self.changed.wait_timeout(seat, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        if seat.run.is_none() {
            self.agent.tell(&Event::Held { run: &call.run, from });
        }
        seat.run = Some(own);
        seat.connections += 1;
        seat.is_loaded |= is_loading;
        Ok(Guest { gate: self, run: call.run.clone(), is_loading })
    }

    /// Lets a process carry out what the caller sends, until it is done or the caller is gone.
    fn carry_out(&self, run: &str, ear: &mut Ear, mut mouth: Mouth) {
        let link = match self.agent.start() {
            Ok(link) => link,
            Err(error) => {
                let cause = format!("it cannot start a load process: {error}");
                // who is gone does not need to know
                let _ = frame::write(&mut mouth, &Said::Failed(PartFailure::Refused { cause }));
                return;
            }
        };
        let Link { mut from, mut to, end, .. } = link;
        let (end, refused) = (&end, &Mutex::new(None::<PartFailure>));
        thread::scope(|scope| {
            scope.spawn(move || {
                while frame::pass(&mut from, &mut mouth).is_ok_and(|more| more) {}
                let ended = end();
                let refused = refused.lock().unwrap_or_else(PoisonError::into_inner).take();
                // nobody hears that where it had said all that there is to say
                let failure = refused.unwrap_or(PartFailure::Gone { end: ended });
                let _ = frame::write(&mut mouth, &Said::Failed(failure));
                mouth.finish();
            });
            if let Err(failure) = self.forward(run, ear, &mut to) {
                *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
            }
            drop(to);
            end();
        });
        self.agent.tell(&Event::Over { run });
    }

    /// Forwards what the caller sends until it ends. The error: the load is not allowed.
    fn forward(&self, run: &str, ear: &mut Ear, to: &mut impl Write) -> Result<(), PartFailure> {
        while let Ok(Some(told)) = frame::read::<Told>(ear) {
            if let Told::Task(task) = &told {
                let wants = Wants::of(&task.spec, task.spec.part.of);
                self.agent.host().limits.check(&wants).map_err(PartFailure::Forbidden)?;
                self.agent.tell(&Event::Load { run, wants: &wants });
            }
            if frame::write(to, &told).is_err() {
                // it has ended: whoever hears it tells how, and the caller hangs up
                break;
            }
        }
        Ok(())
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let mut seat = self.gate.seat();
        seat.connections -= 1;
        seat.is_loaded &= !self.is_loading;
        if seat.connections == 0 {
            seat.run = None;
            self.gate.agent.tell(&Event::Freed { run: &self.run });
        }
        self.gate.changed.notify_all();
    }
}
