//! Webhooks in the engine: who may be called, what is listed, what a restart keeps.

use super::*;
use crate::command::Command;
use crate::effects::Output;
use crate::engine::EngineConfig;
use crate::names::{ConnId, Origin};
use crate::testing::project;

const NOW: Timestamp = Timestamp(1_000_000);
const FROM: Origin = Origin::Client { conn: ConnId(1), request: 1 };

fn engine(strict: bool) -> Engine {
    Engine::new(EngineConfig { strict_webhooks: strict, ..EngineConfig::default() }, 1)
}

fn ask(engine: &mut Engine, request: Request) -> Result<Reply, String> {
    let mut effects = Effects::default();
    engine.handle(NOW, FROM, Command::Webhook(request), &mut effects);
    engine.check(NOW);
    match effects.outputs.remove(0) {
        Output::Reply { reply: Reply::Rejected(why), .. } => Err(why.to_string()),
        Output::Reply { reply, .. } => Ok(reply),
        Output::Event(event) => panic!("{event:?}"),
    }
}

fn new(reach: Reach) -> NewWebhook {
    let events = vec![WebhookEvent::Completed, WebhookEvent::Failed];
    NewWebhook { url: "http://h/".into(), reach, events, queue: Some("q".into()), secret: Some(Secret("s".into())) }
}

fn add(engine: &mut Engine) -> Webhook {
    match ask(engine, Request::Add(new(Reach::World))) {
        Ok(Reply::Webhook(Answer::Added(webhook))) => *webhook,
        other => panic!("{other:?}"),
    }
}

fn list(engine: &mut Engine) -> Vec<Webhook> {
    match ask(engine, Request::List) {
        Ok(Reply::Webhook(Answer::List(list))) => list,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_may_be_called() {
    let table = [
        (Reach::World, true, true),
        (Reach::Localhost, true, false),
        (Reach::Loopback, true, false),
        (Reach::Private, true, false),
        (Reach::UniqueLocal, true, false),
        (Reach::LinkLocal, false, false),
        (Reach::Unspecified, false, false),
        (Reach::Metadata, false, false),
    ];
    for (reach, by_default, strictly) in table {
        for (strict, allowed) in [(false, by_default), (true, strictly)] {
            let answer = ask(&mut engine(strict), Request::Add(new(reach)));
            let refused = format!("Webhook URL cannot point to {reach}");
            assert_eq!(answer.err(), (!allowed).then_some(refused), "strict: {strict}");
        }
    }
}

#[test]
fn what_is_wanted() {
    let mut engine = engine(false);
    let webhook = add(&mut engine);
    assert!(webhook.wants("q", WebhookEvent::Failed));
    assert!(!webhook.wants("q", WebhookEvent::Pushed), "not this event");
    assert!(!webhook.wants("r", WebhookEvent::Failed), "not this queue");
    ask(&mut engine, Request::SetEnabled { id: webhook.id, enabled: false }).unwrap();
    assert!(!list(&mut engine)[0].wants("q", WebhookEvent::Failed), "not while it is off");
}

#[test]
fn calls_are_counted_and_a_restart_keeps_everything() {
    let mut engine = engine(false);
    let (first, second) = (add(&mut engine), add(&mut engine));
    let called =
        |id: &Arc<str>, failures| Request::Called { id: id.clone(), event: None, successes: 2, failures, error: None };
    ask(&mut engine, called(&first.id, 1)).unwrap();
    ask(&mut engine, called(&"gone".into(), 1)).unwrap();
    ask(&mut engine, Request::SetEnabled { id: second.id.clone(), enabled: false }).unwrap();
    let before = list(&mut engine);
    assert_eq!((before[0].successes, before[0].failures, before[0].last_triggered), (2, 1, Some(NOW)));
    assert_eq!((&before[0].id, &before[1].id), (&first.id, &second.id));
    let rows = project(&engine);
    let mut engine = Engine::restore(EngineConfig::default(), 2, rows, NOW, &mut Effects::default()).unwrap();
    assert_eq!(list(&mut engine), before);
}

#[test]
fn what_is_gone_is_not_found_and_there_may_only_be_so_many() {
    let mut engine = engine(false);
    let webhook = add(&mut engine);
    assert!(ask(&mut engine, Request::Remove { id: webhook.id.clone() }).is_ok());
    let gone = [Request::Remove { id: webhook.id.clone() }, Request::SetEnabled { id: webhook.id, enabled: true }];
    for request in gone {
        assert_eq!(ask(&mut engine, request).err().as_deref(), Some("Webhook not found"));
    }
    (0..WEBHOOKS_MAX).for_each(|_| drop(add(&mut engine)));
    let one_more = ask(&mut engine, Request::Add(new(Reach::World)));
    assert_eq!(one_more.err().as_deref(), Some("Too many webhooks (max 100)"));
}

#[test]
fn a_secret_is_never_printed() {
    let secret = Secret("hidden in plain sight".into());
    assert_eq!(format!("{secret:?}"), "Secret");
}
