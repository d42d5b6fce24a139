//! The log of adds as lines of a file, newest first, part by part: every entry that the filter lets through, with its options
//! under their names on the wire and its payload as text that can be read back.
//!
//! Each part is bounded in entries and in bytes, so that neither the core nor a window holds a whole log as text.

use crate::add_search::{Search, question};
use crate::adds::{client, row};
use crate::request::{AddsQuery, ExportAdds, ExportFormat};
use crate::view::{AddRow, ExportPart, Failure, IdKind};
use crate::words;
use crate::{draft, payload, send};
use onceover_broker::activity::AddEntry;
use onceover_engine::command::Add;
use serde_json::{Map, Value, json};

/// Bytes of text after which a part ends.
const PART_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Entries of one part.
const PART_ROWS_MAX: u32 = 200;
/// The columns of a table.
const COLUMNS: [&str; 17] = [
    "seq",
    "at",
    "client",
    "queue",
    "name",
    "jobId",
    "key",
    "decision",
    "job",
    "why",
    "facts",
    "replayOf",
    "bulk",
    "tookUs",
    "dataBytes",
    "options",
    "data",
];

/// The search for a part.
///
/// # Errors
/// The filter has a mistake.
pub fn search(asked: &ExportAdds) -> Result<Search, Failure> {
    // Where a page goes on, only the number matters here: what was counted before it is not asked for.
    let after = asked.after.map(|seq| format!("{seq}.0.0"));
    let query = AddsQuery { after, limit: PART_ROWS_MAX, since: None, grouped: false, ..asked.query.clone() };
    question(&query).map(Search::new)
}

/// The part, off the core thread.
pub fn part(search: Search, asked: &ExportAdds) -> ExportPart {
    let (entries, more) = search.entries();
    let mut part = ExportPart { text: String::new(), rows: 0, next: None };
    if asked.format == ExportFormat::Csv && asked.after.is_none() {
        part.text = format!("{}\r\n", COLUMNS.join(","));
    }
    for entry in &entries {
        if part.text.len() > PART_BYTES_MAX {
            return part;
        }
        match asked.format {
            ExportFormat::Ndjson => {
                part.text.push_str(&Value::Object(record(entry)).to_string());
                part.text.push('\n');
            }
            ExportFormat::Csv => part.text.push_str(&table_row(entry)),
        }
        part.rows += 1;
        part.next = Some(entry.seq);
    }
    // A search that ran out of time goes on where it ended.
    part.next = more;
    part
}

fn record(entry: &AddEntry) -> Map<String, Value> {
    let row = row(entry);
    let mut record = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            record.insert(name.to_owned(), value);
        }
    };
    let decided = entry.decided();
    put("seq", json!(row.seq));
    put("at", json!(payload::utc(entry.at().0.div_euclid(1000), entry.at().0.rem_euclid(1000) as u32 * 1_000_000)));
    put("client", json!(client(&entry.source)));
    put("queue", json!(row.queue));
    put("name", json!(row.name));
    put("jobId", json!(decided.and_then(|record| record.add.custom_id.as_ref().map(ToString::to_string))));
    put("key", json!(key(&row)));
    put("decision", json!(words::decision_code(row.decision)));
    put("job", json!(row.job_id));
    put("why", json!(row.why));
    let facts: Vec<&str> = row.facts.iter().map(|fact| fact.label.as_str()).collect();
    put("facts", if facts.is_empty() { Value::Null } else { json!(facts) });
    put("replayOf", json!(row.replay_of));
    put("bulk", json!(row.bulk.map(|place| format!("{}/{}", place.index, place.total))));
    put("tookUs", json!(entry.took_us));
    put("dataBytes", json!(entry.data_bytes));
    if let Some(decided) = decided {
        let options = options(&decided.add);
        put("options", if options.is_empty() { Value::Null } else { Value::Object(options) });
        put("data", json!(decided.add.data.as_deref().map(|data| data_text(data, entry.data_is_cut()))));
    }
    record
}

/// The options as they stand in the command, without what has a column of its own.
fn options(add: &Add) -> Map<String, Value> {
    let command = send::frame(&draft::options(add), None);
    let text = payload::edit(&command).expect("a frame that was just made is one value");
    let mut options: Map<String, Value> = serde_json::from_str(&text).expect("a command without payload is JSON");
    options.retain(|name, _| !matches!(name.as_str(), "cmd" | "queue" | "name" | "jobId"));
    options
}

fn key(row: &AddRow) -> Option<&str> {
    matches!(row.id_kind, IdKind::Key | IdKind::Hash).then_some(row.id_text.as_str())
}

/// The payload as text that can be read back; of one that the log kept in part, its beginning.
fn data_text(data: &[u8], is_cut: bool) -> String {
    match payload::edit(data) {
        Some(text) if !is_cut => text,
        _ => payload::text(data, data.len().saturating_mul(4)).text,
    }
}

fn table_row(entry: &AddEntry) -> String {
    let record = record(entry);
    let cells = COLUMNS.map(|name| match record.get(name) {
        None => String::new(),
        Some(Value::String(text)) => cell(text),
        Some(Value::Array(items)) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            cell(&texts.join(", "))
        }
        Some(other) => cell(&other.to_string()),
    });
    format!("{}\r\n", cells.join(","))
}

/// A cell as RFC 4180 has it. A text that a spreadsheet would take for a formula is marked as text, because a key or a
/// payload is written by whoever adds.
fn cell(text: &str) -> String {
    let marked = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if marked.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", marked.replace('"', "\"\"")) } else { marked }
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod export_tests;
