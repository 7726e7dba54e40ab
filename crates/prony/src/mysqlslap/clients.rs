//! Clients that run statements one after another, all at the same time, on one thread.

use super::{error::Error, generate::Statement};
use load::{
    Stop,
    hub::{Done, Hub, Way, What},
    random::Random,
    spec::Target,
};
use std::time::{Duration, Instant};

/// How often to check whether to stop.
const LOOK_UP: Duration = Duration::from_millis(50);

/// What clients do besides their statements.
pub(super) struct Terms {
    pub(super) clients: u32,
    /// Statements of each.
    pub(super) each: u64,
    /// COMMIT after this many statements; 0: autocommit.
    pub(super) commit: u64,
    /// Reconnect after this many statements; 0: never.
    pub(super) detach: u64,
    /// The first statement of each connection.
    pub(super) first: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Opening,
    First,
    Autocommit,
    Statement,
    Commit,
    Over,
}

struct Client {
    link: u32,
    step: Step,
    done: u64,
    /// Statements since the last COMMIT.
    open: u64,
    random: Random,
    /// The last statement.
    asked: String,
}

struct Crowd<'a> {
    hub: Hub,
    way: &'a Way,
    statements: &'a [Statement],
    keys: &'a [String],
    terms: &'a Terms,
    clients: Vec<Client>,
    working: u32,
}

/// Runs all clients to their end. Returns how long that took, connecting included.
pub(super) fn run(
    target: &Target,
    statements: &[Statement],
    keys: &[String],
    terms: &Terms,
    stop: &Stop,
) -> Result<Duration, Error> {
    let way = Way::to(target)?;
    let hub = Hub::new()?;
    let mut crowd = Crowd { hub, way: &way, statements, keys, terms, clients: Vec::new(), working: 0 };
    let began = Instant::now();
    for number in 0..terms.clients {
        let link = crowd.hub.open(number, &way);
        let random = Random::for_connection(2, 0, number);
        let step = Step::Opening;
        crowd.clients.push(Client { link, step, done: 0, open: 0, random, asked: String::new() });
        crowd.working += 1;
    }
    while crowd.working > 0 {
        while let Some(done) = crowd.hub.take_done() {
            crowd.heard(done)?;
        }
        if stop.is_stopped() {
            return Err(Error::Interrupted);
        }
        if crowd.working > 0 {
            crowd.hub.wait(LOOK_UP)?;
        }
    }
    Ok(began.elapsed())
}

impl Crowd<'_> {
    fn heard(&mut self, done: Done) -> Result<(), Error> {
        let client = &mut self.clients[done.owner as usize];
        match done.what {
            What::Lost(code, _, message) if client.step == Step::Opening => {
                return Err(Error::Refused { code, message });
            }
            What::Lost(code, _, message) => {
                return Err(Error::Lost { sql: client.asked.clone(), code, message });
            }
            What::Reply(reply) if reply.error.is_some() => {
                let message = self.hub.message(client.link).to_owned();
                return Err(Error::Statement { sql: client.asked.clone(), message });
            }
            What::Reply(_) | What::Opened | What::Woken => {}
        }
        self.next(done.owner);
        Ok(())
    }

    fn next(&mut self, number: u32) {
        let terms = self.terms;
        let client = &mut self.clients[number as usize];
        if client.step == Step::Opening {
            client.step = Step::First;
            if let Some(sql) = &terms.first {
                return self.ask(number, sql.clone());
            }
        }
        if client.step == Step::First {
            client.step = Step::Autocommit;
            if terms.commit > 0 {
                return self.ask(number, "SET AUTOCOMMIT=0".to_owned());
            }
        }
        match client.step {
            Step::Statement => {
                client.done += 1;
                client.open += 1;
                let is_over = client.done >= terms.each;
                if terms.commit > 0 && (is_over || client.open >= terms.commit) {
                    client.step = Step::Commit;
                    client.open = 0;
                    return self.ask(number, "COMMIT".to_owned());
                }
            }
            Step::Autocommit if terms.each > 0 => {
                client.step = Step::Statement;
                return self.statement(number);
            }
            _ => {}
        }
        self.go_on(number);
    }

    /// Sends the next statement, on a new connection if it is time for one, or ends the client.
    fn go_on(&mut self, number: u32) {
        let client = &mut self.clients[number as usize];
        if client.done >= self.terms.each {
            client.step = Step::Over;
            self.working -= 1;
            self.hub.close(client.link);
        } else if self.terms.detach > 0 && client.done.is_multiple_of(self.terms.detach) {
            self.hub.close(client.link);
            client.step = Step::Opening;
            client.link = self.hub.open(number, self.way);
        } else {
            client.step = Step::Statement;
            self.statement(number);
        }
    }

    fn statement(&mut self, number: u32) {
        let client = &mut self.clients[number as usize];
        let sql = match &self.statements[client.done as usize % self.statements.len()] {
            Statement::Text(sql) => sql.clone(),
            Statement::WithKey(sql) => {
                let key = &self.keys[client.random.below(self.keys.len() as u64) as usize];
                format!("{sql}'{}'", key.replace('\'', "''"))
            }
        };
        self.ask(number, sql);
    }

    fn ask(&mut self, number: u32, sql: String) {
        let client = &mut self.clients[number as usize];
        self.hub.query(client.link, sql.as_bytes());
        client.asked = sql;
    }
}
