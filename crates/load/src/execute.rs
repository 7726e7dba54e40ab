//! How a connection carries out its transactions: begins what is due, sends one statement after the other,
//! judges replies, counts.

use crate::{
    bench::Bench,
    clock::Moment,
    compose::write_plain,
    connection::{Connection, Loss, Prepared, Stage},
    program::{Action, Drawer, Drawn, Part, Program},
    share::Turn,
    spec::{ConnectionMode, Expect},
};
use wire::{
    client::{Reply, Statement},
    constants::status,
};

/// "This command is not supported in the prepared statement protocol yet", and "unknown command".
const CANNOT_PREPARE: [u16; 2] = [1295, 1047];

/// Errors after which every further attempt would end the same way: the load ends with the server's words.
/// Access denied, unknown database, column, syntax, table, no privilege, too many prepared statements, read
/// only.
const HOPELESS: [u16; 12] = [1044, 1045, 1046, 1049, 1054, 1064, 1136, 1142, 1146, 1290, 1461, 1836];

impl Connection {
    /// Begins the next transaction, if one is due; otherwise waits for it.
    pub(crate) fn take_up(&mut self, now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        bench.turn(now);
        if !bench.is_over() && self.find(now, bench) { self.advance(now, bench) } else { Ok(()) }
    }

    /// Goes on with the transaction that needed a socket, or begins the next one.
    pub(crate) fn resume(&mut self, now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        if self.under_way { self.advance(now, bench) } else { self.take_up(now, bench) }
    }

    /// Whether a transaction is to begin at `now`. If not, the connection stands where it is found when
    /// one is due.
    fn find(&mut self, now: Moment, bench: &mut Bench<'_>) -> bool {
        if !self.works {
            return false;
        }
        let schedule = &mut bench.tally.batch.streams[self.stream].schedule;
        match bench.shares[self.stream].next(now, &mut self.next_due, schedule) {
            Turn::Go(due) => {
                self.under_way = true;
                self.due = due;
                self.began = None;
                self.wake = Moment::NEVER;
                self.routine = bench.programs[self.stream].choose(&mut self.random);
                self.step = 0;
                self.arena.clear();
                return true;
            }
            Turn::At(due) => {
                self.wake = due;
                bench.wake_at(due, self.index);
            }
            // it stands in the queue once, also where it was lost and came back meanwhile
            Turn::Free if !self.is_in_queue => {
                self.is_in_queue = true;
                bench.shares[self.stream].set_free(self.index);
            }
            Turn::Free | Turn::Rest => {}
        }
        false
    }

    /// Goes on with the current transaction until something must be waited for.
    /// `now` is when the last reply came: a transaction ends with the reply to its last statement, in the
    /// same second.
    fn advance(&mut self, mut now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        let programs = bench.programs;
        let program = &programs[self.stream];
        loop {
            let Some(action) = program.transactions[self.routine].steps.get(self.step) else {
                self.end_transaction(bench, now);
                if bench.is_over() || bench.shares[self.stream].over {
                    return self.rest(bench);
                }
                if self.find(now, bench) {
                    continue;
                }
                return if bench.shares[self.stream].over { self.rest(bench) } else { self.stand_by() };
            };
            self.step += 1;
            match action {
                Action::Draw { slot, source } => {
                    let mut drawer = Drawer { random: &mut self.random, connection: self.number };
                    self.slots[usize::from(*slot)] = program.draw(source, &mut drawer, &mut self.arena);
                }
                Action::Loop { slot, times } => {
                    let rounds = self.rounds(program, times, bench);
                    self.slots[usize::from(*slot)] = Drawn::Integer(rounds);
                }
                Action::Round { slot, end } => match &mut self.slots[usize::from(*slot)] {
                    Drawn::Integer(rounds) if *rounds > 0 => *rounds -= 1,
                    _ => self.step = *end,
                },
                Action::Unless(test, to) => {
                    if !self.holds(program, test, bench) {
                        self.step = *to;
                    }
                }
                Action::Jump(to) => self.step = *to,
                Action::Send(_) if self.transport.is_none() => {
                    self.step -= 1;
                    self.stage = Stage::Called;
                    return Ok(());
                }
                Action::Send(statement) => return self.send_statement(*statement, bench),
                Action::BulkRow { kind, head, row, limit_bytes } => {
                    if self.began.is_none() {
                        let now = bench.now();
                        self.note_began(now, bench);
                    }
                    self.add_row(program, head, row, bench);
                    now = bench.now(); // most of these transactions end without a reply
                    if self.bulk.len() >= *limit_bytes {
                        if self.transport.is_none() {
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
        self.stage = if self.transport.is_some() { Stage::Idle } else { Stage::Away };
        Ok(())
    }

    /// A transaction ended well.
    fn end_transaction(&mut self, bench: &mut Bench<'_>, now: Moment) {
        bench.turn(now);
        // the last of a bulk insert is sent after its transactions have ended
        if !std::mem::take(&mut self.under_way) {
            return;
        }
        self.note_if_too_late(now, bench);
        let began = self.began.take().unwrap_or(now);
        let tally = &mut bench.tally.batch.streams[self.stream].transactions[self.routine];
        tally.count += 1;
        tally.service.record_ns(now.since(began));
        if let Some(response) = &mut tally.response {
            response.record_ns(now.since(self.due));
        }
        if bench.tally.is_measuring() {
            self.finished += 1;
        }
        let share = &mut bench.shares[self.stream];
        share.busy -= 1;
        share.ended = now;
        if !bench.tally.over {
            share.watch.success(now);
        }
        self.be_ready(now, bench);
    }

    /// A transaction that ends after the interval was in flight at its end, also where the worker, busy with
    /// other replies, has not yet looked for such.
    fn note_if_too_late(&self, now: Moment, bench: &mut Bench<'_>) {
        if bench.tally.over && !bench.stopping {
            bench.shares[self.stream].in_flight.add(self.due, now);
        }
    }

    /// A transaction has ended, well or not: when may the next one begin, and does the connection stay open?
    fn be_ready(&mut self, now: Moment, bench: &mut Bench<'_>) {
        let share = &bench.shares[self.stream];
        self.ready = now;
        if let Some(pause_ns) = share.pause_ns(&mut self.random) {
            self.next_due = now.after(pause_ns);
        }
        self.uses += 1;
        if let ConnectionMode::Transactions(limit) = share.mode
            && self.uses >= limit
            && self.transport.is_some()
        {
            self.hang_up(bench);
        }
    }

    /// The load is being stopped: what still waits to be sent in bulk is sent, then the connection is idle.
    fn rest(&mut self, bench: &mut Bench<'_>) -> Result<(), Loss> {
        let bulk =
            bench.programs[self.stream].transactions[self.routine].steps.iter().find_map(|step| match step {
                Action::BulkRow { kind, .. } => Some(*kind),
                _ => None,
            });
        match bulk {
            Some(kind) if !self.bulk.is_empty() && self.transport.is_some() => self.send_bulk(kind, bench),
            _ => self.stand_by(),
        }
    }

    /// Sends a statement; if it is not prepared yet, prepares it first.
    fn send_statement(&mut self, index: usize, bench: &mut Bench<'_>) -> Result<(), Loss> {
        let program = &bench.programs[self.stream];
        let sentence = &program.statements[index];
        bench.out.clear();
        let place = if sentence.prepared { Some(self.prepared_index(program, index)) } else { None };
        match place.map(|place| self.prepared[place]) {
            Some(Prepared::Not) => return self.prepare(index, bench),
            Some(Prepared::Ready(_)) => self.write_execute(program, index, bench)?,
            Some(Prepared::AsText) | None => self.write_text(program, sentence, bench)?,
        }
        self.kept = false;
        self.stage = Stage::Executing(index);
        self.send(bench)
    }

    /// Sends what is in the worker's output buffer; its reply is timed from here.
    fn send(&mut self, bench: &mut Bench<'_>) -> Result<(), Loss> {
        self.sent = bench.now();
        if self.began.is_none() && self.under_way {
            self.note_began(self.sent, bench);
        }
        let transport = self.transport.as_mut().ok_or(Loss::Closed)?;
        Ok(transport.send(&bench.out)?)
    }

    /// The transaction's first byte is sent at `now`.
    #[inline]
    fn note_began(&mut self, now: Moment, bench: &mut Bench<'_>) {
        self.began = Some(now);
        let share = &mut bench.shares[self.stream];
        if !share.waits_for_times() {
            return;
        }
        share.started(self.due, now, &mut bench.tally.batch.streams[self.stream].schedule);
        if bench.tally.is_measuring() {
            bench.send_delay.record_ns(now.since(self.due.max(self.ready)));
        }
    }

    pub(crate) fn prepared_index(&self, program: &Program, statement: usize) -> usize {
        let sentence = &program.statements[statement];
        let table = match sentence.table.map(|slot| self.slots[usize::from(slot)]) {
            Some(Drawn::Integer(table)) => (table - 1).clamp(0, i64::from(program.tables) - 1) as usize,
            _ => 0,
        };
        statement * program.tables as usize + table
    }

    fn prepare(&mut self, index: usize, bench: &mut Bench<'_>) -> Result<(), Loss> {
        let program = &bench.programs[self.stream];
        bench.text.clear();
        for part in &program.statements[index].parts {
            match part {
                Part::Sql(sql) => bench.text.extend_from_slice(sql),
                Part::Parameter(_) => bench.text.push(b'?'),
                Part::Table(slot) => {
                    write_plain(self.slots[usize::from(*slot)], &self.arena, &mut bench.text)
                }
                Part::Inline(_) => {}
            }
        }
        let session = self.session.as_mut().ok_or(Loss::Closed)?;
        session.prepare(&bench.text, &mut bench.out)?;
        self.stage = Stage::Preparing(index);
        self.send(bench)
    }

    fn send_bulk(&mut self, kind: usize, bench: &mut Bench<'_>) -> Result<(), Loss> {
        bench.out.clear();
        let session = self.session.as_mut().ok_or(Loss::Closed)?;
        session.query(&self.bulk, &mut bench.out)?;
        self.bulk.clear();
        self.stage = Stage::Inserting(kind);
        self.send(bench)
    }

    /// A whole reply has come.
    pub(crate) fn on_reply(&mut self, reply: &Reply, now: Moment, bench: &mut Bench<'_>) -> Result<(), Loss> {
        bench.turn(now);
        if self.is_fresh {
            self.note_first_reply(now, bench);
        }
        match self.stage {
            Stage::Executing(index) => {
                let sentence = &bench.programs[self.stream].statements[index];
                self.count(sentence.kind, sentence.expect, reply, now, bench);
            }
            Stage::Inserting(kind) => self.count(kind, Expect::Anything, reply, now, bench),
            Stage::Preparing(index) => return self.on_prepared(index, reply, now, bench),
            Stage::RollingBack => {
                self.status &= !status::IN_TRANSACTION;
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
        self.status = reply.status;
        if bench.shares[self.stream].mode == ConnectionMode::Statement {
            self.hang_up(bench);
        }
        self.advance(now, bench)
    }

    /// Counts a reply to a statement of `kind`.
    #[inline]
    fn count(&mut self, kind: usize, expect: Expect, reply: &Reply, now: Moment, bench: &mut Bench<'_>) {
        let tally = &mut bench.tally.batch.streams[self.stream].statements[kind];
        tally.rows += reply.rows;
        tally.affected += reply.affected;
        if let Some(error) = reply.error {
            tally.errors += 1;
            tally.cut_short += u64::from(reply.rows > 0);
            let message = self.session.as_ref().map_or("", |session| session.message());
            bench.count_error(self.stream, error.code, error.state, message, now);
            if HOPELESS.contains(&error.code) && bench.hopeless.is_none() {
                bench.hopeless = Some(format!("{message} (error {error})"));
            }
            return;
        }
        tally.count += 1;
        tally.not_found += u64::from(expect == Expect::Row && reply.rows == 0);
        tally.unchanged += u64::from(expect == Expect::Change && reply.affected == 0);
        tally.service.record_ns(now.since(self.sent));
        bench.shares[self.stream].add_rows(reply.rows + reply.affected);
    }

    fn on_prepared(
        &mut self,
        index: usize,
        reply: &Reply,
        now: Moment,
        bench: &mut Bench<'_>,
    ) -> Result<(), Loss> {
        let program = &bench.programs[self.stream];
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
        if self.status & status::IN_TRANSACTION == 0 {
            return self.after_failure(now, bench);
        }
        bench.shares[self.stream].rolled_back += u64::from(bench.tally.is_measuring());
        bench.out.clear();
        let session = self.session.as_mut().ok_or(Loss::Closed)?;
        session.query(b"ROLLBACK", &mut bench.out)?;
        self.stage = Stage::RollingBack;
        self.send(bench)
    }

    /// Counts the transaction that is under way as failed.
    pub(crate) fn fail_transaction(&mut self, bench: &mut Bench<'_>, now: Moment) {
        bench.turn(now);
        if std::mem::take(&mut self.under_way) {
            self.note_if_too_late(now, bench);
            let batch = &mut bench.tally.batch.streams[self.stream];
            batch.transactions[self.routine].errors += 1;
            let share = &mut bench.shares[self.stream];
            if self.began.take().is_none() {
                // its connection could not be opened: it was tried, and is not still to be sent
                share.started(self.due, now, &mut batch.schedule);
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
        if bench.shares[self.stream].mode == ConnectionMode::Statement {
            self.hang_up(bench);
        }
        self.be_ready(now, bench);
        self.take_up(now, bench)
    }
}
