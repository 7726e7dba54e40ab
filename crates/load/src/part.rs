//! The other end of a [`crate::Parts`]: a process that carries out a part of a load, as it is told over a
//! stream of bytes, and tells over another what comes of it.

use crate::{
    conduct::Team as _,
    control::{Control, Message, Order},
    engine::Ground,
    error::Error,
    frame::{self, Hello, Said, Task},
    gather::{Merger, PartReport},
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

/// Carries out the part that is asked for at `from`. Returns when it is over, also because whoever asked is
/// gone.
///
/// # Errors
/// Where what comes is no task.
pub fn serve(mut from: impl Read + Send, mut to: impl Write + Send) -> io::Result<()> {
    frame::write(&mut to, &Hello::ours())?;
    let Some(Task { spec, secrets }) = frame::read(&mut from)? else { return Ok(()) };
    let (stop, control) = (Stop::default(), Control::new(spec.streams.len())?);
    let speaker = Speaker(Mutex::new(to));
    thread::scope(|scope| {
        scope.spawn(|| {
            while let Ok(Some(order)) = frame::read::<Order>(&mut from) {
                if order == Order::Stop {
                    stop.stop();
                }
                control.order(order);
            }
            // whoever asked for it has all that it wants, or is gone
            stop.stop();
            control.order(Order::Stop);
        });
        let (over, is_over) = mpsc::channel::<()>();
        let speaker = &speaker;
        scope.spawn(move || {
            while is_over.recv_timeout(ALIVE_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                speaker.say(&Said::Alive);
            }
        });
        let said = match carry_out(&spec, &secrets, (&control, &stop), speaker) {
            Ok(report) => Said::Finished(Box::new(report)),
            Err(error) => Said::Refused(error.to_string()),
        };
        drop(over);
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
    spec: &Spec,
    secrets: &Secrets,
    (control, stop): (&Control, &Stop),
    speaker: &Speaker<impl Write + Send>,
) -> Result<PartReport, Error> {
    let ground = Ground::prepare(spec, secrets, control, stop)?;
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
