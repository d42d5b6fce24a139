//! Slots are used again, and empty chunks are given back.

use super::*;

fn bytes(slab: &Slab<u64>) -> usize {
    slab.chunks.iter().map(|chunk| chunk.slots.capacity()).sum()
}

#[test]
fn a_slot_is_used_again_and_finds_what_was_put_there() {
    let mut slab = Slab::default();
    let slots: Vec<u32> = (0..5_000).map(|value| slab.insert(value)).collect();
    assert!(slots.iter().zip(0..).all(|(slot, value)| slab.get(*slot) == Some(&value)));
    for slot in slots.iter().step_by(3) {
        assert!(slab.remove(*slot).is_some());
        assert_eq!(slab.remove(*slot), None);
        assert_eq!((slab.get_mut(*slot).copied(), slab.get(*slot)), (None, None));
    }
    let full = bytes(&slab);
    let again: Vec<u32> = (0..1_600).map(|value| slab.insert(10_000 + value)).collect();
    assert_eq!(bytes(&slab), full, "room that is there is used first");
    assert!(again.iter().zip(10_000..).all(|(slot, value)| slab.get(*slot) == Some(&value)));
    assert_eq!(slab.iter().count(), 5_000 - 1_667 + 1_600);
    assert_eq!(slab.remove(1 << 20), None);
    assert_eq!(slab.get(u32::MAX), None);
}

#[test]
fn a_drained_list_gives_its_memory_back() {
    let mut slab = Slab::default();
    let slots: Vec<u32> = (0..10_000).map(|value| slab.insert(value)).collect();
    assert_eq!(bytes(&slab), 10 * CHUNK);
    slots[..9_900].iter().for_each(|slot| assert!(slab.remove(*slot).is_some()));
    assert_eq!(bytes(&slab), CHUNK, "only what still holds something keeps its memory");
    let again: Vec<u32> = (0..10_000).map(|value| slab.insert(value)).collect();
    assert!(again.iter().zip(0..).all(|(slot, value)| slab.get(*slot) == Some(&value)));
    assert_eq!(bytes(&slab), 10 * CHUNK);
    slots[9_900..].iter().chain(&again).for_each(|slot| assert!(slab.remove(*slot).is_some()));
    assert_eq!((bytes(&slab), slab.iter().count()), (0, 0));
}
