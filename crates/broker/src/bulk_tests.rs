//! A batch in parts is answered as a whole.

use super::*;
use onceover_engine::command::NewJob;
use onceover_engine::names::JobId;
use onceover_engine::rejection::Rejection;

const CONN: ConnId = ConnId(1);
const ORIGIN: Origin = Origin::Client { conn: CONN, request: 7 };

fn batch(count: usize, bytes: usize) -> Vec<Add> {
    vec![Add { data: Some(vec![0; bytes].into()), ..Add::new(NewJob::new("q", "n")) }; count]
}

fn sizes(adds: Vec<Add>) -> Option<Vec<(usize, bool)>> {
    parts(adds).ok().map(|parts| parts.iter().map(|part| (part.adds.len(), part.last)).collect())
}

#[test]
fn long_batches_are_cut_by_jobs_and_by_bytes_and_short_ones_stay_whole() {
    assert_eq!(sizes(batch(PART_JOBS_MAX, 10)), None);
    assert_eq!(sizes(batch(0, 0)), None);
    assert_eq!(sizes(batch(PART_JOBS_MAX + 1, 10)), Some(vec![(PART_JOBS_MAX, false), (1, true)]));
    assert_eq!(sizes(batch(2 * PART_JOBS_MAX, 10)), Some(vec![(PART_JOBS_MAX, false), (PART_JOBS_MAX, true)]));
    assert_eq!(sizes(batch(3, PART_BYTES_MAX)), Some(vec![(2, false), (1, true)]));
}

#[test]
fn a_batch_with_dependencies_stays_whole() {
    let mut adds = batch(PART_JOBS_MAX + 1, 10);
    let mut spec = NewJob::new("q", "n");
    spec.rare.get_or_insert_default().depends_on = vec![JobId::parse("later")];
    adds[0] = Add::new(spec);
    assert!(parts(adds).is_err());
}

fn answer(reply: Reply) -> Vec<Output> {
    let other = Output::Reply { to: Origin::Client { conn: CONN, request: 8 }, reply: Reply::Ok };
    vec![Output::Reply { to: ORIGIN, reply }, other]
}

fn added(ids: &[&str]) -> Reply {
    let one = |id: &&str| Added { id: JobId::parse(id), duplicate: None, replaced: None };
    Reply::AddedBulk(ids.iter().map(one).collect())
}

/// The answer to the batch, if there is one now.
fn after(bulks: &mut Bulks, reply: Reply, last: bool) -> Option<String> {
    let mut outputs = answer(reply);
    bulks.answered(CONN, 7, last, &mut outputs);
    assert!(matches!(outputs.last(), Some(Output::Reply { reply: Reply::Ok, .. })), "another answer was taken");
    outputs.into_iter().find_map(|output| match output {
        Output::Reply { to, reply } if to == ORIGIN => Some(format!("{reply:?}")),
        _ => None,
    })
}

#[test]
fn the_ids_of_all_parts_are_one_answer() {
    let mut bulks = Bulks::default();
    assert_eq!(after(&mut bulks, added(&["a", "b"]), false), None);
    assert_eq!(after(&mut bulks, added(&["c"]), true), Some(format!("{:?}", added(&["a", "b", "c"]))));
    assert!(bulks.begun.is_empty());
}

#[test]
fn a_refusal_is_the_answer_and_the_rest_is_not_tried() {
    let mut bulks = Bulks::default();
    let refused = Reply::Rejected(Rejection::DuplicateExtended);
    assert_eq!(after(&mut bulks, added(&["a"]), false), None);
    assert_eq!(after(&mut bulks, refused.clone(), false), Some(format!("{refused:?}")));
    assert!(!bulks.goes_on(CONN, 7, false) && bulks.goes_on(CONN, 8, false));
    assert!(!bulks.goes_on(CONN, 7, true));
    assert!(bulks.begun.is_empty());
    assert_eq!(after(&mut bulks, refused.clone(), true), Some(format!("{refused:?}")));
    assert!(bulks.begun.is_empty());
}

#[test]
fn what_a_connection_has_begun_goes_with_it() {
    let mut bulks = Bulks::default();
    after(&mut bulks, added(&["a"]), false);
    bulks.forget(ConnId(2));
    assert_eq!(bulks.begun.len(), 1);
    bulks.forget(CONN);
    assert!(bulks.begun.is_empty());
}

#[test]
fn the_log_counts_in_the_whole_batch() {
    let mut engine = Engine::new(onceover_engine::EngineConfig::default(), 1);
    let mut effects = Effects::default();
    engine.tick(Timestamp(1), &mut effects);
    let parts = parts(batch(PART_JOBS_MAX + 3, 1)).unwrap_or_else(|_| panic!("it is long"));
    let mut bulks = Bulks::default();
    let mut seen = Vec::new();
    for part in parts {
        bulks.take(Timestamp(1), (CONN, 7), part, &mut engine, &mut effects);
        seen.extend(effects.adds.drain(..).filter_map(|record| record.bulk));
    }
    let size = PART_JOBS_MAX as u32 + 3;
    let first = seen[0].0;
    assert_eq!(seen, (0..size).map(|at| (first + at, size)).collect::<Vec<_>>());
}
