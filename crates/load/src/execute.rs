//! How a connection executes its transactions: it begins what is due, sends one statement after another,
//! reads and judges the replies, and counts.

use crate::{
    bench::Bench,
    clock::Moment,
    connection::{After, Connection, Prepared, Stage},
    loss::Loss,
    program::{Action, Program},
    sample::Broken,
    share::Turn,
    spec::{ConnectionMode, Expect},
    transport::Received,
};
use wire::{
    client::{Progress, Reply, Statement},
    constants::status,
};

/// "This command is not supported in the prepared statement protocol yet", and "unknown command".
const CANNOT_PREPARE: [u16; 2] = [1295, 1047];

/// Errors after which every further attempt would end the same way: the load ends with the server's words.
/// Access denied, unknown database, column, syntax, table, no privilege, too many prepared statements, read
/// only.
const HOPELESS: [u16; 12] = [1044, 1045, 1046, 1049, 1054, 1064, 1136, 1142, 1146, 1290, 1461, 1836];

impl Connection {
    /// The socket has something. Reads it, and resumes whatever that allows.
    pub(crate) fn on_readable(&mut self, bench: &mut Bench<'_>) -> Result<After, Loss> {
        // the buffer is taken out for the time, so that what is read can be looked at while `bench` is in use
        let mut input = std::mem::take(&mut bench.input);
        let result = self.receive(&mut input, bench);
        bench.input = input;
        result
    }

    fn receive(&mut self, input: &mut [u8], bench: &mut Bench<'_>) -> Result<After, Loss> {
        let mut after = After::Carry;
        loop {
            let count = match self.channel.receive(input)? {
                Received::Bytes(count) => count,
                Received::Later => return Ok(after),
                Received::Closed => return Err(Loss::Closed),
            };
            let now = bench.now();
            if bench.tally.is_measuring() {
                bench.queueing.record_ns(now.since(bench.woken));
            }
            if self.channel.pending().is_empty() {
                let (used, done) = self.consume(&input[..count], now, bench)?;
                if used < count {
                    self.channel.pending().extend_from_slice(&input[used..count]);
                }
                after = done.max(after);
            } else {
                let mut bytes = std::mem::take(self.channel.pending());
                bytes.extend_from_slice(&input[..count]);
                let (used, done) = self.consume(&bytes, now, bench)?;
                bytes.drain(..used);
                *self.channel.pending() = bytes;
                after = done.max(after);
            }
            if !self.channel.may_hold_more() {
                // not read on at once: an endless result would keep the others waiting
                self.channel.is_to_be_rearmed |= count == input.len();
                return Ok(after);
            }
        }
    }

    /// Takes whole packets. Returns how many bytes are done with.
    fn consume(&mut self, bytes: &[u8], now: Moment, bench: &mut Bench<'_>) -> Result<(usize, After), Loss> {
        let mut at = 0;
        let mut after = After::Carry;
        loop {
            match &mut self.stage {
                Stage::LoggingIn(_) => {
                    let (used, logged_in) = self.log_in(&bytes[at..], now, bench)?;
                    at += used;
                    if !logged_in {
                        return Ok((at, after));
                    }
                    after = After::LoggedIn;
                }
                Stage::Idle | Stage::Down | Stage::Away | Stage::Called | Stage::Connecting => {
                    return if at == bytes.len() {
                        Ok((at, after))
                    } else {
                        Err(Loss::Unasked(bytes.len() - at))
                    };
                }
                _ => {
                    let (used, progress) = self.read_reply(&bytes[at..], bench)?;
                    at += used;
                    if progress != Progress::NeedMore {
                        self.refuse_surplus(bytes.len() - at)?;
                    }
                    match progress {
                        Progress::NeedMore => return Ok((at, after)),
                        Progress::Done(reply) => self.on_reply(&reply, now, bench)?,
                        Progress::LocalInfile { .. } => self.refuse_local_file(bench)?,
                    }
                }
            }
        }
    }

    /// What came behind a reply and before the next request is the reply to nothing: which of the two was
    /// the reply, nobody can tell, so neither is counted. `rest` is what was read and not yet looked at.
    #[inline]
    fn refuse_surplus(&mut self, rest: usize) -> Result<(), Loss> {
        match rest + self.channel.unread()? {
            0 => Ok(()),
            surplus => Err(Loss::Unasked(surplus)),
        }
    }

    #[inline]
    fn read_reply(&mut self, bytes: &[u8], bench: &Bench<'_>) -> Result<(usize, Progress), Loss> {
        let session = self.channel.session()?;
        if let Stage::Executing(statement) = self.stage {
            let keep = &bench.programs[self.place.stream].statements[statement].keep;
            if !keep.is_empty() {
                return Ok(session.receive_with(bytes, &mut self.values.first_row(keep))?);
            }
        }
        Ok(session.receive(bytes)?)
    }

    /// No workload of the engine sends files: whoever asks gets an empty one, and an error is counted.
    #[cold]
    fn refuse_local_file(&mut self, bench: &mut Bench<'_>) -> Result<(), Loss> {
        bench.out.clear();
        self.channel.session()?.local_end(&mut bench.out)?;
        self.channel.send(&bench.out)
    }

    /// Begins the next transaction, if one is due; otherwise waits for it.
    pub(crate) fn take_up(&mut self, now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        bench.turn(now);
        if !bench.is_over() && self.find(now, bench) { self.advance(now, bench) } else { Ok(()) }
    }

    /// Resumes the transaction that needed a socket, or begins the next one.
    pub(crate) fn resume(&mut self, now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        if self.course.under_way { self.advance(now, bench) } else { self.take_up(now, bench) }
    }

    /// Whether a transaction is to begin at `now`. If not, the connection stands where it is found when
    /// one is due.
    fn find(&mut self, now: Moment, bench: &mut Bench<'_>) -> bool {
        if !self.place.works {
            return false;
        }
        let schedule = &mut bench.tally.batch.streams[self.place.stream].schedule;
        match bench.shares[self.place.stream].next(now, &mut self.agenda.next_due, schedule) {
            Turn::Go(due) => {
                self.course.under_way = true;
                self.course.due = due;
                self.course.began = None;
                self.agenda.wake = Moment::NEVER;
                let program = &bench.programs[self.place.stream];
                let chosen = self.course.next.take();
                let (turn, random) = (&mut self.course.turn, &mut self.values.random);
                self.course.routine = chosen.unwrap_or_else(|| program.choose(turn, random));
                self.course.step = 0;
                self.values.arena.clear();
                return true;
            }
            Turn::At(due) => {
                self.agenda.wake = due;
                bench.wake_at(due, self.place.index);
            }
            // it stands in the queue once, also where it was lost and came back meanwhile
            Turn::Free if !self.agenda.is_in_queue => {
                self.agenda.is_in_queue = true;
                bench.shares[self.place.stream].set_free(self.place.index);
            }
            Turn::Free | Turn::Rest => {}
        }
        false
    }

    /// Resumes the current transaction until something must be waited for. `now` is when the last reply came:
    /// a transaction ends with the reply to its last statement, in the same second.
    fn advance(&mut self, mut now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        let programs = bench.programs;
        let program = &programs[self.place.stream];
        loop {
            let Some(action) = program.transactions[self.course.routine].steps.get(self.course.step) else {
                self.end_transaction(bench, now);
                if bench.is_over() || bench.shares[self.place.stream].over {
                    return self.rest(bench);
                }
                if self.find(now, bench) {
                    continue;
                }
                return if bench.shares[self.place.stream].over { self.rest(bench) } else { self.stand_by() };
            };
            self.course.step += 1;
            match action {
                Action::Draw { slot, source } => {
                    self.values.draw(*slot, program, source);
                }
                Action::Loop { slot, number, times } => {
                    let rounds = self.values.rounds(program, times, bench);
                    self.values.begin_rounds((*slot, *number), rounds);
                }
                Action::Round { slot, number, end } => {
                    if !self.values.next_round((*slot, *number)) {
                        self.course.step = *end;
                    }
                }
                Action::Unless(test, to) => {
                    if !self.values.holds(program, test, bench) {
                        self.course.step = *to;
                    }
                }
                Action::Jump(to) => self.course.step = *to,
                Action::Send(_) if !self.channel.is_open() => {
                    self.course.step -= 1;
                    self.stage = Stage::Called;
                    return Ok(());
                }
                Action::Send(statement) => return self.send_statement(*statement, bench),
                Action::BulkRow { kind, head, row, limit_bytes } => {
                    if self.course.began.is_none() {
                        let now = bench.now();
                        self.note_began(now, bench);
                    }
                    self.values.add_row(program, (head, row), &mut self.bulk, bench);
                    now = bench.now(); // most of these transactions end without a reply
                    if self.bulk.len() >= *limit_bytes {
                        if !self.channel.is_open() {
                            // the row is in the buffer, and goes out with the next one
                            self.stage = Stage::Called;
                            return Ok(());
                        }
                        return self.send_bulk(*kind, bench);
                    }
                }
            }
        }
    }

    /// Nothing is due: open and idle, or closed where the connection mode had it closed.
    fn stand_by(&mut self) -> Result<(), Loss> {
        self.stage = if self.channel.is_open() { Stage::Idle } else { Stage::Away };
        Ok(())
    }

    /// A transaction ended well.
    fn end_transaction(&mut self, bench: &mut Bench<'_>, now: Moment) {
        bench.turn(now);
        // the last of a bulk insert is sent after its transactions have ended
        if !std::mem::take(&mut self.course.under_way) {
            return;
        }
        let began = self.course.began.take().unwrap_or(now);
        let place = (self.place.stream, self.course.routine);
        let is_measured = bench.note_ended(place, (self.course.due, began), now);
        self.finished += u64::from(is_measured);
        self.be_ready(now, bench);
    }

    /// A transaction has ended, well or not: when may the next one begin, and does the connection stay open?
    pub(crate) fn be_ready(&mut self, now: Moment, bench: &mut Bench<'_>) {
        let share = &bench.shares[self.place.stream];
        self.agenda.ready = now;
        // what is keyed in depends on what comes next
        let program = &bench.programs[self.place.stream];
        let (turn, random) = (&mut self.course.turn, &mut self.values.random);
        self.course.next = share.has_keying().then(|| program.choose(turn, random));
        let around = (self.course.routine, self.course.next.unwrap_or(self.course.routine));
        if let Some(pause_ns) = share.pause_ns(around, &mut self.values.random) {
            self.agenda.next_due = now.after(pause_ns);
        }
        self.channel.uses += 1;
        if let ConnectionMode::Transactions(limit) = share.mode
            && self.channel.uses >= limit
            && self.channel.is_open()
        {
            self.hang_up(bench);
        }
    }

    /// The load is being stopped: what still waits to be sent in bulk is sent, then the connection is idle.
    fn rest(&mut self, bench: &mut Bench<'_>) -> Result<(), Loss> {
        let bulk = bench.programs[self.place.stream].transactions[self.course.routine].steps.iter().find_map(
            |step| match step {
                Action::BulkRow { kind, .. } => Some(*kind),
                _ => None,
            },
        );
        match bulk {
            Some(kind) if !self.bulk.is_empty() && self.channel.is_open() => self.send_bulk(kind, bench),
            _ => self.stand_by(),
        }
    }

    /// Sends a statement; if it is not prepared yet, prepares it first.
    fn send_statement(&mut self, index: usize, bench: &mut Bench<'_>) -> Result<(), Loss> {
        let program = &bench.programs[self.place.stream];
        let sentence = &program.statements[index];
        bench.out.clear();
        let place = if sentence.prepared { Some(self.prepared_index(program, index)) } else { None };
        match place.map(|place| &mut self.prepared[place]) {
            Some(Prepared::Not) => return self.prepare(index, bench),
            Some(Prepared::Ready(statement)) => {
                self.values.write_execute(program, sentence, (self.channel.session()?, statement), bench)?;
            }
            Some(Prepared::AsText) | None => {
                let escapes = self.channel.status & status::NO_BACKSLASH_ESCAPES == 0;
                self.values.write_text(program, sentence, escapes, bench);
                self.channel.session()?.query(&bench.text, &mut bench.out)?;
            }
        }
        self.values.kept = false;
        self.stage = Stage::Executing(index);
        self.send(bench)
    }

    /// Sends what is in the worker's output buffer; its reply is timed from here.
    fn send(&mut self, bench: &mut Bench<'_>) -> Result<(), Loss> {
        self.course.sent = bench.now();
        if self.course.began.is_none() && self.course.under_way {
            self.note_began(self.course.sent, bench);
        }
        self.channel.send(&bench.out)
    }

    /// The transaction's first byte is sent at `now`.
    #[inline]
    fn note_began(&mut self, now: Moment, bench: &mut Bench<'_>) {
        self.course.began = Some(now);
        bench.note_began(self.place.stream, (self.course.due, self.agenda.ready), now);
    }

    fn prepared_index(&self, program: &Program, statement: usize) -> usize {
        let slot = program.statements[statement].table;
        let table = slot.map_or(0, |slot| self.values.table(slot, program.tables));
        statement * program.tables as usize + table
    }

    fn prepare(&mut self, index: usize, bench: &mut Bench<'_>) -> Result<(), Loss> {
        let program = &bench.programs[self.place.stream];
        bench.text.clear();
        self.values.write_prepared(&program.statements[index], &mut bench.text);
        self.channel.session()?.prepare(&bench.text, &mut bench.out)?;
        self.stage = Stage::Preparing(index);
        self.send(bench)
    }

    fn send_bulk(&mut self, kind: usize, bench: &mut Bench<'_>) -> Result<(), Loss> {
        bench.out.clear();
        self.channel.session()?.query(&self.bulk, &mut bench.out)?;
        self.bulk.clear();
        self.stage = Stage::Inserting(kind);
        self.send(bench)
    }

    /// A whole reply has come.
    pub(crate) fn on_reply(&mut self, reply: &Reply, now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        bench.turn(now);
        if self.opening.is_fresh {
            self.note_first_reply(now, bench);
        }
        match self.stage {
            Stage::Executing(index) => {
                let sentence = &bench.programs[self.place.stream].statements[index];
                self.count(sentence.kind, sentence.expect, reply, now, bench);
            }
            Stage::Inserting(kind) => self.count(kind, Expect::Anything, reply, now, bench),
            Stage::Preparing(index) => return self.on_prepared(index, reply, now, bench),
            Stage::RollingBack => {
                self.channel.status &= !status::IN_TRANSACTION;
                return self.after_failure(now, bench);
            }
            Stage::Down
            | Stage::Away
            | Stage::Called
            | Stage::Connecting
            | Stage::LoggingIn(_)
            | Stage::Idle => {
                return Ok(());
            }
        }
        if reply.error.is_some() {
            // the server may not have taken the types of the parameters that came with this execution
            for prepared in &mut self.prepared {
                if let Prepared::Ready(statement) = prepared {
                    statement.forget_types();
                }
            }
            return self.on_failure(now, bench);
        }
        self.channel.status = reply.status;
        if bench.shares[self.place.stream].mode == ConnectionMode::Statement {
            self.hang_up(bench);
        }
        self.advance(now, bench)
    }

    /// Counts a reply to a statement of `kind`.
    #[inline]
    fn count(&mut self, kind: usize, expect: Expect, reply: &Reply, now: Moment, bench: &mut Bench<'_>) {
        let tally = &mut bench.tally.batch.streams[self.place.stream].statements[kind];
        tally.rows += reply.rows;
        tally.affected += reply.affected;
        if let Some(error) = reply.error {
            tally.errors += 1;
            tally.cut_short += u64::from(reply.rows > 0);
            let message = self.channel.message();
            bench.count_error(self.place.stream, error.code, error.state, message, now);
            if HOPELESS.contains(&error.code) && bench.hopeless.is_none() {
                let (code, state, message) = (error.code, error.state_text(), message.to_owned());
                bench.hopeless = Some(Broken::Statement { code, state, message });
            }
            return;
        }
        tally.count += 1;
        tally.not_found += u64::from(expect == Expect::Row && reply.rows == 0);
        tally.unchanged += u64::from(expect == Expect::Change && reply.affected == 0);
        tally.service.record_ns(now.since(self.course.sent));
        bench.shares[self.place.stream].add_rows(reply.rows + reply.affected);
    }

    fn on_prepared(
        &mut self,
        index: usize,
        reply: &Reply,
        now: Moment,
        bench: &mut Bench<'_>,
    ) -> Result<(), Loss> {
        let program = &bench.programs[self.place.stream];
        let place = self.prepared_index(program, index);
        match (reply.error, reply.prepared) {
            // a server that counts other parameters than we do is not one to be trusted with binary values
            (None, Some(prepared))
                if usize::from(prepared.parameters) == program.statements[index].parameters() =>
            {
                self.prepared[place] = Prepared::Ready(Statement::new(prepared));
            }
            (Some(error), _) if !CANNOT_PREPARE.contains(&error.code) => {
                self.count(program.statements[index].kind, Expect::Anything, reply, now, bench);
                return self.on_failure(now, bench);
            }
            _ => self.prepared[place] = Prepared::AsText,
        }
        self.send_statement(index, bench)
    }

    /// A statement failed: its transaction ends here, rolled back if the server still has it open.
    fn on_failure(&mut self, now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        self.fail_transaction(bench, now);
        if self.channel.status & status::IN_TRANSACTION == 0 {
            return self.after_failure(now, bench);
        }
        bench.shares[self.place.stream].rolled_back += u64::from(bench.tally.is_measuring());
        bench.out.clear();
        self.channel.session()?.query(b"ROLLBACK", &mut bench.out)?;
        self.stage = Stage::RollingBack;
        self.send(bench)
    }

    /// Counts the transaction that is under way as failed.
    pub(crate) fn fail_transaction(&mut self, bench: &mut Bench<'_>, now: Moment) {
        bench.turn(now);
        if std::mem::take(&mut self.course.under_way) {
            bench.note_if_too_late(self.place.stream, self.course.due, now);
            let batch = &mut bench.tally.batch.streams[self.place.stream];
            batch.transactions[self.course.routine].errors += 1;
            let share = &mut bench.shares[self.place.stream];
            if self.course.began.take().is_none() {
                // its connection could not be opened: it was tried, and is not still to be sent
                share.started(self.course.due, now, &mut batch.schedule);
            }
            share.busy -= 1;
            share.ended = now;
        }
    }

    fn after_failure(&mut self, now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        self.stage = Stage::Idle;
        if bench.hopeless.is_some() {
            return Ok(());
        }
        if bench.shares[self.place.stream].mode == ConnectionMode::Statement {
            self.hang_up(bench);
        }
        self.be_ready(now, bench);
        self.take_up(now, bench)
    }
}
