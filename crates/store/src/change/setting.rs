//! Settings.

use crate::error::StoreError;
use crate::writer::{Change, Durability, Writer};

/// Sets or removes a setting.
pub(crate) struct SetSetting {
    pub(crate) key: String,
    pub(crate) value: Option<String>,
}

impl Change for SetSetting {
    type Reply = ();
    const DURABILITY: Durability = Durability::Power;

    async fn run(&self, writer: &mut Writer) -> Result<(), StoreError> {
        let query = match &self.value {
            Some(value) => {
                sqlx::query("INSERT INTO setting (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
                    .bind(self.key.clone())
                    .bind(value.clone())
            }
            None => sqlx::query("DELETE FROM setting WHERE key = ?").bind(self.key.clone()),
        };
        writer.write("changing a setting", query).await?;
        Ok(())
    }
}
