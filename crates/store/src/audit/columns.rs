//! Rows without a body, and the columns that stand beside one.
//!
//! Lists show these columns and workers choose by them: who decided on a call, whether a task is
//! over, whether a board is shared, when a schedule is due. A row without a body has a seal of its
//! own; a column beside a body must hold what the sealed body says.

use super::deep::Audit;
use super::{PAGE, Result};
use crate::interface::Store;
use crate::lookup::{LookupRow, LookupTable, expected};
use crate::query::{Page, Scope};
use crate::sealed;
use steward_domain::{ChainId, Timestamp};
use steward_journal::note::NoteSigner;

impl Audit {
    /// Recipes, without what changes by their use.
    pub(super) async fn recipes(&mut self, store: &dyn Store, signer: &NoteSigner) -> Result<()> {
        let mut page = Page::first(PAGE);
        loop {
            let rows = store.recipes(&Scope::System, page).await?;
            for row in &rows {
                let older = self.may_lack_seal(row.created_at);
                let seal = sealed::of_recipe(signer, row)?;
                self.check("recipe", &row.recipe_id.to_string(), &seal, older);
            }
            if rows.len() < PAGE as usize {
                return Ok(());
            }
            page.offset += PAGE;
        }
    }

    /// Decisions on gates, each with the call that it released.
    pub(super) async fn decisions(&mut self, store: &dyn Store, signer: &NoteSigner) -> Result<()> {
        let mut page = Page::first(PAGE);
        while let Some(rows) = next(store, LookupTable::Decision, &mut page).await? {
            for mut row in rows {
                let id = sealed::decision_id(&row);
                let older = self.may_lack_seal(time(&row, "decided_at"));
                let call = row.columns.remove("call_id").flatten();
                self.check("decision", &id, &sealed::of(signer, "decision", &row.content())?, older);
                let call = call.map(|call| sealed::of(signer, "released", &call)).transpose()?;
                self.later("decision", "released", &id, call.as_deref(), older);
            }
        }
        Ok(())
    }

    /// Ticks of schedules, each with the time at which it was settled.
    pub(super) async fn ticks(&mut self, store: &dyn Store, signer: &NoteSigner) -> Result<()> {
        let mut page = Page::first(PAGE);
        while let Some(rows) = next(store, LookupTable::Tick, &mut page).await? {
            for mut row in rows {
                let id = sealed::tick_id(&row);
                let older = self.may_lack_seal(time(&row, "due_at"));
                let settled = row.columns.remove("settled_at").flatten();
                self.check("tick", &id, &sealed::of(signer, "tick", &row.content())?, older);
                let settled = settled.map(|at| sealed::of(signer, "settled", &at)).transpose()?;
                self.later("tick", "settled", &id, settled.as_deref(), older);
            }
        }
        Ok(())
    }

    /// A column that a later commit fills, with a seal of its own.
    fn later(&mut self, row: &str, kind: &str, id: &str, seal: Option<&str>, older: bool) {
        let known = self.sealed.get(&(kind.to_owned(), id.to_owned())).map(|known| known.seal.as_str());
        if known != seal && !(older && known.is_none()) {
            self.finding(format!("{row} {id} was changed: what it says of `{kind}` is not in the journal"));
        }
    }

    /// Compares every column with the body beside it, and every owner with that of the chain.
    pub(super) async fn columns(&mut self, store: &dyn Store) -> Result<()> {
        for table in LookupTable::WITH_BODY {
            let mut page = Page::first(PAGE);
            while let Some(rows) = next(store, table, &mut page).await? {
                for mut row in rows {
                    let Some(body) = row.body.take() else { continue };
                    let owner = row.chain.and_then(|chain| self.owners.get(&chain));
                    let wanted = expected(table, &body, owner.map_or(row.owner.as_str(), String::as_str))?;
                    if row != wanted {
                        self.finding(differs(table, &row, &wanted));
                    }
                }
            }
        }
        for table in [LookupTable::Message, LookupTable::Payload] {
            let mut page = Page::first(PAGE);
            while let Some(rows) = next(store, table, &mut page).await? {
                for row in rows {
                    let known = row.chain.filter(|chain| *chain != ChainId::SYSTEM);
                    let owner = known.and_then(|chain| self.owners.get(&chain));
                    if let Some(owner) = owner.filter(|owner| **owner != row.owner) {
                        let (name, id) = (table.row_name(), &row.id);
                        let found = format!("{name} {id} was given to another than {owner}");
                        self.finding(found);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The next rows of a table; none at its end.
async fn next(store: &dyn Store, table: LookupTable, page: &mut Page) -> Result<Option<Vec<LookupRow>>> {
    let rows = store.lookup_rows(table, *page).await?;
    page.offset += PAGE;
    Ok((!rows.is_empty()).then_some(rows))
}

fn time(row: &LookupRow, column: &str) -> Timestamp {
    Timestamp::from_micros(row.text(column).parse().unwrap_or(i64::MAX))
}

/// Which column of a row does not hold what the body says.
fn differs(table: LookupTable, row: &LookupRow, wanted: &LookupRow) -> String {
    let name = table.row_name();
    let of_columns = row.columns.iter().find(|(column, value)| wanted.columns.get(*column) != Some(value));
    let what = match of_columns {
        Some((column, _)) => column,
        None if row.owner != wanted.owner => "owner",
        None if row.id != wanted.id => "id",
        None => "task",
    };
    format!("{name} {} was changed: its column `{what}` is not what its content says", wanted.id)
}
