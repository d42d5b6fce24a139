//! Trouble and its end, as a storage reports it.

use super::*;
use onceover_engine::change::Snapshot;
use onceover_engine::command::Payload;
use onceover_engine::names::JobKey;
use onceover_store::RowSource;

/// A storage that is in the way it was last told to be.
#[derive(Default)]
struct Moody {
    broken: bool,
    remarks: Vec<String>,
    tries: u32,
}

impl Moody {
    fn answer(&self) -> Result<(), StoreError> {
        match self.broken {
            true => Err(StoreError::Full { operation: "write to", file: "f".into() }),
            false => Ok(()),
        }
    }
}

impl Storage for Moody {
    fn load(&mut self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot::default())
    }

    fn commit_rows(&mut self, _: bool, _: &mut RowSource<'_>) -> Result<(), StoreError> {
        self.answer()
    }

    fn stage(&mut self, _: &Payload) -> Result<bool, StoreError> {
        self.answer().map(|()| true)
    }

    fn look(&mut self) -> Result<(), StoreError> {
        self.answer()
    }

    fn try_write(&mut self) -> Result<(), StoreError> {
        self.tries += 1;
        self.answer()
    }

    fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    fn payload(&self, _: JobKey) -> Result<Option<Payload>, StoreError> {
        Ok(None)
    }

    fn result(&self, _: JobKey) -> Result<Option<Payload>, StoreError> {
        Ok(None)
    }

    fn file_bytes(&self) -> u64 {
        0
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn trouble_is_seen_while_nothing_is_stored_and_ends_by_itself() {
    let (mut notices, mut storage) = (Notices::default(), Moody::default());
    assert!(!notices.look_after(Timestamp(0), &mut storage, false));
    storage.broken = true;
    assert!(notices.look_after(Timestamp(1_000), &mut storage, false));
    assert!(!notices.look_after(Timestamp(10_999), &mut storage, false), "not tried again so soon");
    assert_eq!(storage.tries, 0);
    assert!(notices.look_after(Timestamp(11_000), &mut storage, false));
    assert_eq!((storage.tries, notices.trouble().unwrap().since), (1, Timestamp(1_000)));
    storage.broken = false;
    assert!(notices.look_after(Timestamp(21_000), &mut storage, false));
    assert_eq!(notices.trouble(), None);
    let [Notice { at: Timestamp(21_000), what: Event::WorksAgain { since, .. } }] = &notices.happened.as_slices().0
    else {
        panic!("{notices:?}")
    };
    assert_eq!(*since, Timestamp(1_000));
}

#[test]
fn a_commit_that_succeeds_ends_it_at_once() {
    let (mut notices, mut storage) = (Notices::default(), Moody::default());
    notices.failed(Timestamp(1), &StoreError::Full { operation: "write to", file: "f".into() });
    assert!(notices.look_after(Timestamp(2), &mut storage, true));
    assert_eq!((notices.trouble(), storage.tries), (None, 0));
}

#[test]
fn remarks_are_kept_up_to_a_bound_and_only_the_last_jump() {
    let (mut notices, mut storage) = (Notices::default(), Moody::default());
    for at in 0..20 {
        storage.remarks = vec![format!("remark {at}")];
        assert!(notices.look_after(Timestamp(at), &mut storage, true));
    }
    assert_eq!(notices.iter().count(), NOTICES_MAX);
    assert_eq!(notices.iter().last().unwrap().what, Event::File("remark 19".to_owned()));
    for at in 20..23 {
        notices.clock(Timestamp(at), Jump::Back(Millis(3_000)));
    }
    assert_eq!(notices.iter().count(), NOTICES_MAX);
    assert_eq!(notices.iter().filter(|notice| matches!(notice.what, Event::Clock(_))).count(), 1);
}
