//! The committed TypeScript of the window's types is what these types give.
//!
//! `cargo test` writes `ui/src/bindings` anew, by one test that `ts-rs` makes of every exported type. The files are compared
//! as they were when this test was compiled, so that it fails once after a change, whatever was written meanwhile.

use crate::request::*;
use crate::view::*;
use std::collections::BTreeSet;
use std::path::Path;
use ts_rs::{Config, ExportError, TS};

macro_rules! types {
    ($($name:ident,)*) => {
        [$((
            stringify!($name),
            include_str!(concat!("../../../ui/src/bindings/", stringify!($name), ".ts")),
            <$name as TS>::export_to_string,
        ),)*]
    };
}

/// A type's name, its committed file, and what makes the file anew.
type Exported = (&'static str, &'static str, fn(&Config) -> Result<String, ExportError>);

const TYPES: &[Exported] = &types![
    Action,
    ActionResult,
    AddCounts,
    AddDetail,
    AddGroup,
    AddRead,
    AddRow,
    AddsChip,
    AddsPage,
    AddsQuery,
    Attention,
    AttentionCode,
    AttentionView,
    BackoffAsked,
    BackoffKind,
    BrokerState,
    BulkPlace,
    Can,
    Changed,
    Chip,
    DataChoice,
    DataKind,
    ClientProcess,
    ClientRole,
    ClientsView,
    Decision,
    DedupWindow,
    DraftView,
    DryRun,
    ExportAdds,
    ExportFormat,
    ExportPart,
    EndedKey,
    Fact,
    Failure,
    FailureCode,
    Family,
    GroupPause,
    GroupRow,
    GroupsView,
    IdKind,
    JobCounts,
    JobDetail,
    JobError,
    JobHolder,
    JobKey,
    JobRow,
    JobState,
    JobsChosen,
    JobsPage,
    JobsPreview,
    JobsQuery,
    KeyCounts,
    KeyDetail,
    KeyFace,
    KeyGroup,
    KeyKind,
    KeyRef,
    KeyRow,
    KeyWindow,
    KeyWorker,
    KeysChip,
    KeysChosen,
    KeysPage,
    KeysPreview,
    KeysQuery,
    KeysSort,
    LaneAdd,
    LaneEnd,
    LaneEnding,
    LaneFigures,
    LaneJob,
    LaneKey,
    LaneSpan,
    LaneSpec,
    LaneStrategy,
    LaneView,
    LastDecision,
    Lease,
    LimitChange,
    LeftAlone,
    LogLine,
    Named,
    NavCounts,
    Notice,
    NewAdd,
    OfQueue,
    Overview,
    PlayClock,
    PlayLine,
    PlayRun,
    PlaygroundAct,
    PlaygroundView,
    ProtocolProblem,
    QueueConfig,
    QueueConfigured,
    QueueLimits,
    QueueRow,
    RateLimit,
    QueuesView,
    SchedulesQuery,
    SchedulesSort,
    NewWebhook,
    WebhookAct,
    WebhookVerb,
    WebhookRow,
    WebhooksView,
    ScheduleAct,
    ScheduleVerb,
    ScheduleRow,
    SchedulesView,
    RefusalCode,
    Relative,
    ReleasePreview,
    RepeatAsked,
    Request,
    Scenario,
    ScenariosView,
    SettingChange,
    SettingsView,
    ScriptAct,
    ScriptStep,
    RunProgress,
    RunView,
    Severity,
    StartRun,
    Strategy,
    Text,
    TimeEntry,
    TimelineEntry,
    WorkerMove,
    WorkerRow,
    WorkerSpec,
];

#[test]
fn committed_bindings_are_up_to_date() {
    let config = Config::from_env();
    for (name, committed, generate) in TYPES {
        let generated = generate(&config).unwrap();
        assert_eq!(*committed, generated, "ui/src/bindings/{name}.ts was not up to date; it is now, commit it");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/bindings");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let known: BTreeSet<String> = TYPES.iter().map(|(name, _, _)| format!("{name}.ts")).collect();
    assert_eq!(
        files.collect::<BTreeSet<_>>(),
        known,
        "every file belongs to a type, and every exported type is listed here"
    );
}
