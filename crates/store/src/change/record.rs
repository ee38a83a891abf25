//! Facts that a running attempt adds to its task.

use std::collections::{BTreeMap, HashSet};

use st_model::event::EventKind;
use st_model::finding::Finding;

use super::{Holder, met};
use crate::error::StoreError;
use crate::lease::Record;
use crate::row::{StoredTask, get, number_to_sql, to_json};
use crate::writer::{Change, Durability, Writer};

/// Adds facts, all or none.
pub(crate) struct AddFacts {
    pub(crate) holder: Holder,
    pub(crate) records: Vec<Record>,
}

impl Change for AddFacts {
    type Reply = ();
    const DURABILITY: Durability = Durability::Process;

    async fn run(&self, writer: &mut Writer) -> Result<(), StoreError> {
        let before = self.holder.load(writer).await?;
        let known = Known::load(writer, &before, &self.records).await?;
        let at = writer.now();
        let mut facts = Facts { after: before.clone(), known, findings: Vec::new(), lines: BTreeMap::new() };
        let mut told = Vec::with_capacity(self.records.len());
        for record in &self.records {
            match record {
                Record::Pinned { files } => {
                    facts.after.task.pinned_at = Some(at);
                    told.push(EventKind::Pinned { files: *files });
                }
                Record::Finding(finding) => told.extend(facts.add_finding(finding)?),
                Record::Covered(entry) => {
                    let body = to_json("coverage line", entry)?;
                    if facts.cover(entry.file.as_bytes(), body) {
                        told.push(EventKind::Covered { entry: entry.clone() });
                    }
                }
                Record::Note(text) => told.push(EventKind::Note { text: text.clone() }),
            }
        }
        facts.write(writer, &before).await?;
        for kind in told {
            writer.tell(&before.task, at, kind)?;
        }
        Ok(())
    }
}

/// What the task holds already of what is to be added.
#[derive(Default)]
struct Known {
    fingerprints: HashSet<String>,
    /// Stored ledger lines by path.
    lines: BTreeMap<Vec<u8>, String>,
}

impl Known {
    async fn load(writer: &mut Writer, task: &StoredTask, records: &[Record]) -> Result<Self, StoreError> {
        let mut fingerprints = Vec::new();
        let mut paths = Vec::new();
        for record in records {
            match record {
                Record::Finding(finding) => fingerprints.push(finding.fingerprint.as_str()),
                Record::Covered(entry) => paths.push(hex(entry.file.as_bytes())),
                Record::Pinned { .. } | Record::Note(_) => {}
            }
        }
        let mut known = Self::default();
        if fingerprints.is_empty() && paths.is_empty() {
            return Ok(known);
        }
        let number = number_to_sql(task.task.number.0);
        let select = sqlx::query(
            "SELECT fingerprint, NULL AS path, NULL AS body FROM finding \
             WHERE task = ? AND fingerprint IN (SELECT value FROM json_each(?)) \
             UNION ALL SELECT NULL, path, body FROM coverage \
             WHERE task = ? AND path IN (SELECT unhex(value) FROM json_each(?))",
        )
        .bind(number)
        .bind(to_json("fingerprint", &fingerprints)?)
        .bind(number)
        .bind(to_json("path", &paths)?);
        for row in writer.read("comparing with what is known", select).await? {
            match get::<Option<String>>(&row, "fingerprint")? {
                Some(fingerprint) => {
                    known.fingerprints.insert(fingerprint);
                }
                None => {
                    known.lines.insert(get(&row, "path")?, get(&row, "body")?);
                }
            }
        }
        Ok(known)
    }
}

/// What is to be written.
struct Facts {
    after: StoredTask,
    known: Known,
    /// Number, fingerprint, JSON.
    findings: Vec<(u32, String, String)>,
    lines: BTreeMap<Vec<u8>, String>,
}

impl Facts {
    /// Numbers a finding and keeps it, unless the task has one of the same fingerprint.
    fn add_finding(&mut self, finding: &Finding) -> Result<Option<EventKind>, StoreError> {
        if !self.known.fingerprints.insert(finding.fingerprint.clone()) {
            return Ok(None);
        }
        let counts = &mut self.after.task.findings;
        counts.add(finding.severity);
        let mut finding = finding.clone();
        finding.id = counts.total();
        if !finding.confidence.is_finite() {
            // JSON has no such number; it would be read back as nothing.
            finding.confidence = 0.0;
        }
        self.findings.push((finding.id, finding.fingerprint.clone(), to_json("finding", &finding)?));
        Ok(Some(EventKind::Finding { finding: Box::new(finding) }))
    }

    /// Keeps a ledger line; says whether it is news.
    fn cover(&mut self, path: &[u8], body: String) -> bool {
        match self.known.lines.insert(path.to_vec(), body.clone()) {
            Some(old) if old == body => return false,
            Some(_) => {}
            None => self.after.task.covered = self.after.task.covered.saturating_add(1),
        }
        self.lines.insert(path.to_vec(), body);
        true
    }

    async fn write(self, writer: &mut Writer, before: &StoredTask) -> Result<(), StoreError> {
        let number = number_to_sql(before.task.number.0);
        if !self.findings.is_empty() {
            let insert = sqlx::query(
                "INSERT INTO finding (task, id, fingerprint, body) \
                 SELECT ?, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)",
            )
            .bind(number)
            .bind(to_json("finding", &self.findings)?);
            writer.write("adding findings", insert).await?;
        }
        if !self.lines.is_empty() {
            let lines: Vec<_> = self.lines.iter().map(|(path, body)| (hex(path), body)).collect();
            let insert = sqlx::query(
                "INSERT INTO coverage (task, path, body) \
                 SELECT ?, unhex(value ->> 0), value ->> 1 FROM json_each(?) WHERE true \
                 ON CONFLICT (task, path) DO UPDATE SET body = excluded.body",
            )
            .bind(number)
            .bind(to_json("coverage line", &lines)?);
            writer.write("adding to the ledger", insert).await?;
        }
        if self.after.task != before.task {
            met(&writer.write("counting what was added", self.after.update(before)?).await?, 1)?;
        }
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
