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

fn part(adds: Vec<Add>) -> Part {
    Part::all(adds).unwrap_or_else(|_| panic!("it may be cut"))
}

#[test]
fn a_batch_is_cut_by_jobs_and_by_bytes() {
    let most = Size { commands: 10, bytes: 1_000 };
    assert!(part(batch(10, 100)).cut(most).is_none());
    assert!(part(Vec::new()).cut(most).is_none());
    let mut rest = part(batch(23, 10));
    let cut: Vec<_> =
        std::iter::from_fn(|| rest.cut(most)).map(|part| (part.adds.len(), part.before, part.last)).collect();
    assert_eq!(cut, [(10, 0, false), (10, 10, false)]);
    assert_eq!((rest.adds.len(), rest.before, rest.of, rest.last), (3, 20, 23, true));
    assert_eq!(part(batch(5, 400)).cut(most).map(|part| part.adds.len()), Some(2));
    assert_eq!(part(batch(5, 4_000)).cut(most).map(|part| part.adds.len()), Some(1), "one always goes");
}

#[test]
fn a_batch_with_dependencies_stays_whole() {
    let mut adds = batch(100, 10);
    let mut spec = NewJob::new("q", "n");
    spec.rare.get_or_insert_default().depends_on = vec![JobId::parse("later")];
    adds[0] = Add::new(spec);
    assert!(Part::all(adds).is_err());
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
    let mut rest = part(batch(23, 1));
    let first = rest.cut(Size { commands: 20, bytes: 1_000 });
    let mut bulks = Bulks::default();
    let mut seen = Vec::new();
    for part in first.into_iter().chain([rest]) {
        bulks.take(Timestamp(1), (CONN, 7), part, &mut engine, &mut effects);
        seen.extend(effects.adds.drain(..).filter_map(|record| record.bulk));
    }
    let first = seen[0].0;
    assert_eq!(seen, (0..23).map(|at| (first + at, 23)).collect::<Vec<_>>());
}
