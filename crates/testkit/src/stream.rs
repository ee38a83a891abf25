//! Waiting for events instead of for time.

use std::collections::BTreeMap;

use st_app::client::Subscription;
use st_app::dto::{EventDto, TaskDto, UpdateDto};

use crate::PATIENCE;

/// A subscriber that keeps the order of events and applies rows, as a window does. It panics at
/// an event that comes twice or out of order.
#[derive(Debug)]
pub struct Watcher {
    /// The stream.
    pub subscription: Subscription,
    /// Every event so far, ticks left out.
    pub events: Vec<EventDto>,
    /// Ticks so far.
    pub ticks: Vec<EventDto>,
    /// Rows as last sent, by number.
    pub tasks: BTreeMap<u64, TaskDto>,
    /// Batches so far.
    pub batches: usize,
    /// The engine as last told.
    pub status: st_app::dto::StatusDto,
    last: u64,
}

impl Watcher {
    /// Begins with a subscription's snapshot.
    #[must_use]
    pub fn new(subscription: Subscription) -> Self {
        let tasks = subscription.snapshot.tasks.iter().map(|task| (task.number, task.clone())).collect();
        let (last, status) = (subscription.snapshot.seq, subscription.snapshot.status.clone());
        Self { subscription, events: Vec::new(), ticks: Vec::new(), tasks, batches: 0, status, last }
    }

    /// Number of the last event: where a resumption begins.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.last
    }

    fn apply(&mut self, update: UpdateDto) {
        self.batches += 1;
        for event in update.events {
            match event.seq {
                Some(seq) => {
                    assert!(seq > self.last, "event {seq} came after {}", self.last);
                    self.last = seq;
                    self.events.push(event);
                }
                None => self.ticks.push(event),
            }
        }
        assert_eq!(update.seq, self.last, "a batch names its newest event");
        self.tasks.extend(update.tasks.into_iter().map(|task| (task.number, task)));
        if let Some(status) = update.status {
            self.status = status;
        }
    }

    /// Takes batches until `wanted` holds.
    ///
    /// # Panics
    /// When the stream ends or it does not hold in time.
    pub async fn until(&mut self, what: &str, wanted: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !wanted(self) {
                match self.subscription.updates.recv().await {
                    Some(update) => self.apply(update),
                    None => panic!("the stream ended before {what}"),
                }
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("waited in vain for {what}; {} events, last {:?}, tasks {:?}", self.events.len(), self.events.last(), self.tasks);
        }
    }

    /// Takes batches until the task is at rest, and returns its row.
    ///
    /// # Panics
    /// When it does not come to rest in time.
    pub async fn rest(&mut self, task: u64) -> TaskDto {
        let at_rest = |watcher: &Self| watcher.tasks.get(&task).is_some_and(|row| row.state.is_at_rest());
        self.until(&format!("task {task} to rest"), at_rest).await;
        self.tasks[&task].clone()
    }

    /// Takes batches until an event of `kind` about the task has come, and returns it.
    ///
    /// # Panics
    /// When none comes in time.
    pub async fn event(&mut self, task: u64, kind: &str) -> EventDto {
        let is = |event: &EventDto| event.task == task && event.kind == kind;
        self.until(&format!("`{kind}` of task {task}"), |watcher| watcher.events.iter().any(is)).await;
        self.events.iter().find(|event| is(event)).cloned().unwrap()
    }

    /// Takes what is left until the stream ends.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn end(&mut self) {
        let ending = async {
            while let Some(update) = self.subscription.updates.recv().await {
                self.apply(update);
            }
        };
        tokio::time::timeout(PATIENCE, ending).await.expect("the stream ends");
    }
}

/// Waits for the first event that `wanted` takes, and returns it.
///
/// # Panics
/// When the stream ends or none comes in time.
pub async fn wait_for_event(subscription: &mut Subscription, wanted: impl Fn(&EventDto) -> bool) -> EventDto {
    let waiting = async {
        loop {
            let update = subscription.updates.recv().await.expect("the stream goes on");
            if let Some(event) = update.events.into_iter().find(&wanted) {
                return event;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the event comes")
}
