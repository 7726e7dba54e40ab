//! The other end of a [`crate::Parts`]: a process that runs one part of a load. It takes its orders from one
//! stream of bytes and reports its results over another.

use crate::{
    clock::Moment,
    conduct::Team as _,
    control::{Control, Message, Order},
    engine::Ground,
    error::{Error, PartFailure},
    frame::{self, Hello, Said, Task, Told},
    gather::{Merger, PartReport},
    host::Seen,
    play::Interpreter,
    secrets::Secrets,
    spec::Spec,
    stop::Stop,
};
use std::{
    io::{self, Read, Write},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

/// How often a part says that it is there.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// Runs the part that is asked for at `from`. Returns when it is over, also because the asking process is
/// gone. On a load host, `look` sees what that does meanwhile.
///
/// # Errors
/// Where what comes is no task.
pub fn serve(
    mut from: impl Read + Send,
    mut to: impl Write + Send,
    interpreter: Option<&'static dyn Interpreter>,
    look: Option<fn() -> Seen>,
) -> io::Result<()> {
    frame::write(&mut to, &Hello::ours())?;
    let speaker = Speaker(Mutex::new(to));
    let Task { spec, secrets } = loop {
        match frame::read::<Told>(&mut from) {
            Ok(None) => return Ok(()),
            Ok(Some(Told::Clock(asked))) => speaker.say(&Said::Clock { asked, there: Moment::now() }),
            Ok(Some(Told::Task(task))) => break *task,
            Ok(Some(Told::Order(_))) => {}
            Err(error) => {
                // whoever asked would only see that it ended
                let cause = format!("its task cannot be understood: {error}");
                speaker.say(&Said::Failed(PartFailure::Refused { cause }));
                return Err(error);
            }
        }
    };
    let (stop, control) = (Stop::default(), Control::new(spec.streams.len())?);
    thread::scope(|scope| {
        scope.spawn(|| {
            while let Ok(Some(told)) = frame::read::<Told>(&mut from) {
                match told {
                    Told::Clock(asked) => speaker.say(&Said::Clock { asked, there: Moment::now() }),
                    Told::Task(_) => break,
                    Told::Order(order) => {
                        if order == Order::Stop {
                            stop.stop();
                        }
                        control.order(order);
                    }
                }
            }
            // whoever asked for it has all that it wants, or is gone
            stop.stop();
            control.order(Order::Stop);
        });
        let (over, is_over) = mpsc::channel::<()>();
        let speaker = &speaker;
        let live = move || speaker.say(&Said::Alive { at: Moment::now(), seen: look.map(|look| look()) });
        let alive = scope.spawn(move || {
            live();
            while is_over.recv_timeout(ALIVE_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                live();
            }
            // what a load host did until the end is known with that
            live();
        });
        let said = match carry_out((&spec, &secrets), interpreter, (&control, &stop), speaker) {
            Ok(report) => Said::Finished(Box::new(report)),
            Err(error) => Said::Failed(PartFailure::Refused { cause: error.to_string() }),
        };
        drop(over);
        // it panics only where this one's clock or memory does
        let _ = alive.join();
        speaker.say(&said);
    });
    Ok(())
}

/// What leads to whoever asked.
struct Speaker<W>(Mutex<W>);

impl<W: Write> Speaker<W> {
    fn say(&self, said: &Said) {
        let mut to = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // one who is gone has closed the other stream, too, and that ends all this
        let _ = frame::write(&mut *to, said);
    }
}

fn carry_out(
    (spec, secrets): (&Spec, &Secrets),
    interpreter: Option<&'static dyn Interpreter>,
    (control, stop): (&Control, &Stop),
    speaker: &Speaker<impl Write + Send>,
) -> Result<PartReport, Error> {
    let ground = Ground::prepare(spec, secrets, (control, interpreter), stop)?;
    thread::scope(|scope| {
        let (messages, inbox) = mpsc::channel();
        let mut crew = ground.crew(scope, messages)?;
        let mut merger = Merger::new(crew.members(), spec.streams.len());
        // until all workers have ended
        for message in inbox {
            match message {
                Message::Second(batch) => {
                    let Some(mut whole) = merger.add(batch, |batch| crew.give_back(batch)) else { continue };
                    let worker = std::mem::replace(&mut whole.of, spec.part.number as usize);
                    let said = Said::Of(Message::Second(whole));
                    speaker.say(&said);
                    if let Said::Of(Message::Second(mut whole)) = said {
                        whole.of = worker;
                        crew.give_back(whole);
                    }
                }
                Message::Done { stream, at } => {
                    if let Some(at) = merger.add_done(stream, at) {
                        speaker.say(&Said::Of(Message::Done { stream, at }));
                    }
                }
                message => speaker.say(&Said::Of(message)),
            }
        }
        let reports = crew.finish()?;
        let report = reports.into_iter().next().map(|(_, report)| report);
        report.ok_or_else(|| Error::System(io::Error::other("the workers of this process reported nothing")))
    })
}
