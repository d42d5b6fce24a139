//! Which connections get the events of which queue. At most one queue per connection.

use onceover_engine::names::ConnId;
use std::collections::HashMap;
use std::sync::Arc;

/// By queue and by connection.
#[derive(Debug, Default)]
pub struct Subscribers {
    by_queue: HashMap<Arc<str>, Vec<ConnId>>,
    by_conn: HashMap<ConnId, Arc<str>>,
}

impl Subscribers {
    /// Who gets the events of `queue`, in order of subscription.
    #[must_use]
    pub fn of(&self, queue: &str) -> &[ConnId] {
        self.by_queue.get(queue).map_or(&[], Vec::as_slice)
    }

    /// `conn` gets this queue's events, and no other's.
    pub fn subscribe(&mut self, conn: ConnId, queue: Arc<str>) {
        self.unsubscribe(conn);
        self.by_queue.entry(Arc::clone(&queue)).or_default().push(conn);
        self.by_conn.insert(conn, queue);
    }

    /// `conn` gets no events.
    pub fn unsubscribe(&mut self, conn: ConnId) {
        let Some(queue) = self.by_conn.remove(&conn) else { return };
        let Some(conns) = self.by_queue.get_mut(&queue) else { return };
        conns.retain(|other| *other != conn);
        if conns.is_empty() {
            self.by_queue.remove(&queue);
        }
    }
}

#[cfg(test)]
#[path = "subscribers_tests.rs"]
mod subscribers_tests;
