//! `sidetrack config`.

use serde_json::{Map, json};
use st_app::protocol::{Call, Reply};
use st_app::{ErrorCode, Problem};

use super::{Outcome, ask, reply_name, unexpected};
use crate::args::Config;
use crate::context::Context;
use crate::exit;
use crate::render::table::{Column, table};

/// Reads and changes settings.
pub(super) async fn config(context: &Context, verb: Config) -> Outcome {
    let client = context.connect().await?;
    if let Config::Set { key, value, default: _ } = &verb {
        match client.call(Call::ConfigSet { key: key.clone(), value: value.clone() }).await? {
            Reply::Ok | Reply::Settings(_) => {}
            other => return Err(unexpected(reply_name(&other)).into()),
        }
    }
    let settings = ask!(client, Call::ConfigList, Settings)?;
    let key = match verb {
        Config::List => None,
        Config::Get { key } | Config::Set { key, .. } => Some(key),
    };
    let Some(key) = key else {
        if context.output.is_json() {
            let object: Map<_, _> =
                settings.iter().map(|(key, value, origin)| (key.clone(), json!({"value": value, "from": origin}))).collect();
            context.output.json(&object)?;
        } else {
            let rows = settings.iter().map(|(key, value, origin)| vec![(key.clone(), None), (value.clone(), None), (origin.clone(), None)]);
            let columns = [Column::left("setting"), Column::left("value"), Column::left("from")];
            context.output.raw(&table(&columns, rows.collect(), context.output.width(), &context.output.look()))?;
        }
        return Ok(exit::DONE);
    };
    let Some((key, value, origin)) = settings.iter().find(|(name, _, _)| *name == key) else {
        let names: Vec<&str> = settings.iter().map(|(name, _, _)| name.as_str()).collect();
        return Err(Problem::refused(
            ErrorCode::Usage,
            format!("There is no setting `{key}`"),
            format!("Choose one of: {}.", names.join(", ")),
        )
        .into());
    };
    if context.output.is_json() {
        context.output.json(&json!({"key": key, "value": value, "from": origin}))?;
    } else {
        context.output.line(value)?;
    }
    Ok(exit::DONE)
}
