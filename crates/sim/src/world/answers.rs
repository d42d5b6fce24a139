//! What clients read of the answers, and what they will never read.

use super::World;
use crate::client::{Client, subjects};
use crate::ledger::QUIET;
use onceover_broker::outbox::Out;
use onceover_engine::command::{Command, Renewal};
use onceover_engine::names::JobKey;
use onceover_engine::reply::Reply;
use onceover_engine::webhook::Answer;
use std::collections::BTreeMap;

impl World {
    /// Answers that will never be read.
    pub(super) fn forget_what_is_open(&mut self) {
        let gone: Vec<Client> = self.clients.drain(..).chain(self.leaving.drain(..)).collect();
        for client in gone {
            self.forget(&client);
        }
    }

    pub(super) fn nobody_reads_for_those_who_left(&mut self) {
        let left = std::mem::take(&mut self.leaving);
        for client in &left {
            self.forget(client);
        }
        // Something of what they asked may have been left for the next turn.
        if !self.inbox.is_empty() {
            self.leaving = left;
        }
    }

    fn forget(&mut self, client: &Client) {
        for command in client.open.values() {
            self.doubt(command);
        }
    }

    /// Nobody was told whether this command had its effect.
    fn doubt(&mut self, command: &Command) {
        if let Command::Push { add, .. } = command
            && *add.spec.queue == *QUIET
        {
            self.ledger.quiet_doubt(add, self.now);
        }
    }

    /// Everything that has arrived at the clients.
    pub(super) fn read(&mut self, undone: bool) {
        // Clients are read one after the other: what has an order among them is put back into it.
        let (mut quiet, mut delivered) = (Vec::new(), Vec::new());
        for at in 0..self.clients.len() {
            for out in self.clients[at].read() {
                match out {
                    Out::Reply { request, reply } => {
                        assert!(!undone, "an answer left without its commit: {reply:?}");
                        self.tally.answers += 1;
                        let command = self.clients[at].open.remove(&request).expect("one answer to each request");
                        match (command, reply) {
                            (Command::Push { add, .. }, Reply::Added(added)) if *add.spec.queue == *QUIET => {
                                quiet.push((add, added));
                            }
                            (Command::Pull(pull), Reply::Pulled { job, .. }) => {
                                delivered.extend(job.map(|job| (at, pull, *job)));
                            }
                            (Command::Pull(pull), Reply::PulledBulk { jobs, .. }) => {
                                delivered.extend(jobs.into_iter().map(|job| (at, pull.clone(), job)));
                            }
                            (command, reply) => self.answered(at, &command, &reply),
                        }
                    }
                    Out::Refused { request, .. } => {
                        assert!(undone, "only a failed commit refuses these commands");
                        let command = self.clients[at].open.remove(&request).expect("one answer to each request");
                        self.doubt(&command);
                    }
                    Out::Close => self.clients[at].closed = true,
                    Out::Event(_) | Out::Unsubscribed { .. } => panic!("nobody subscribed: {out:?}"),
                    Out::Hello { .. } | Out::Figures { .. } | Out::Pong { .. } => {
                        panic!("nobody asked for this: {out:?}")
                    }
                }
            }
        }
        let mut times: BTreeMap<JobKey, u32> = BTreeMap::new();
        for (_, _, job) in &delivered {
            *times.entry(job.record.job.key).or_default() += 1;
        }
        for (at, pull, job) in delivered {
            self.trees.delivered(&job.record.job, self.core.as_ref().expect("a core runs").engine());
            let client = &mut self.clients[at];
            client.held.push(self.ledger.delivered(client.conn, &pull, &job, self.now));
            if times[&job.record.job.key] > 1 {
                // It was put back in between, and nobody knows which of them came last.
                self.ledger.lease_is_unknown(job.record.job.key);
            }
            if client.held.len() > 12 {
                client.held.drain(..6);
            }
        }
        // The add that opened a window came before its repeats.
        quiet.sort_by_key(|(_, added)| added.duplicate.is_some());
        for (add, added) in quiet {
            self.ledger.quiet_add(&add, &added, self.now);
        }
        if self.may_return {
            self.ledger.finished_may_return();
            let on_its_way = |command: &Command| matches!(command, Command::RetryCompleted { .. });
            self.may_return = self.clients.iter().any(|client| client.open.values().any(on_its_way));
        }
    }

    fn answered(&mut self, at: usize, command: &Command, reply: &Reply) {
        let client = &mut self.clients[at];
        match (command, reply) {
            (Command::JobHeartbeat(Renewal { duration, .. }), Reply::DataOk)
            | (Command::ExtendLock(Renewal { duration, .. }), Reply::Ok) => {
                let by = duration.expect("the traffic always says how long");
                for held in subjects(command, &client.held) {
                    self.ledger.renewed(held, by, self.now);
                }
            }
            (Command::Flow(_), Reply::Flow(_)) => self.trees.answered(command),
            (Command::Webhook(_), Reply::Webhook(Answer::Added(webhook))) => self.webhooks.push(webhook.id.clone()),
            (Command::Ack(_) | Command::AckBulk { .. }, Reply::Ok) => {
                for held in subjects(command, &client.held) {
                    if self.may_return {
                        self.ledger.finished_may_return();
                    }
                    self.ledger.completed(held);
                }
            }
            _ => {}
        }
    }
}
