//! How event loops watch their sockets: edge-triggered, with one timer that ends every wait in time. It knows
//! no connections.

use rustix::{
    event::epoll::{self, EventFlags},
    fd::OwnedFd,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};
use std::{io, time::Duration};

/// What sockets are watched for. By edges: a socket that was read empty need not be asked again, which costs
/// a good part of what waiting costs. A read that fills its buffer, and the end of a socket, may leave
/// something behind that was told already: there epoll is asked again, which tells of it once more.
pub(crate) const WATCHED: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
/// The other side has closed, or the socket is broken.
pub(crate) const ENDS: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// A timer that ends a wait on `poll` so often, under this token, so that a wait need not arm one of its own:
/// between two replies of a closed loop that would be a good part of the work.
pub(crate) fn tick(poll: &OwnedFd, token: u64, every: Duration) -> io::Result<OwnedFd> {
    let tick = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let every = Timespec { tv_sec: every.as_secs() as i64, tv_nsec: every.subsec_nanos().into() };
    let setting = Itimerspec { it_interval: every, it_value: every };
    timerfd_settime(&tick, TimerfdTimerFlags::empty(), &setting)?;
    epoll::add(poll, &tick, epoll::EventData::new_u64(token), EventFlags::IN)?;
    Ok(tick)
}
