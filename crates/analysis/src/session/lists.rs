//! Columns of lists: their items are tables of their own that refer to the table they stand in.

use super::{Session, TableLocation};
use crate::catalogue::{Evidence, Join, Table};
use crate::error::Result;
use crate::frame::Frame;
use crate::profile;
use crate::reader::lists::{self, ListTable};
use crate::reader::names;
use std::sync::Arc;

/// The items of a column of lists, and the table that they belong to.
pub(super) struct ChildTable {
    source: usize,
    parent: String,
    key: String,
    key_label: String,
    list: ListTable,
}

impl ChildTable {
    /// Takes columns of lists out of a table; their items become tables of their own.
    pub(super) fn split(
        source: usize,
        name: &str,
        table: &mut Table,
        frame: Arc<Frame>,
        lists: &mut Vec<ChildTable>,
    ) -> Arc<Frame> {
        let labels: Vec<String> = table.columns.iter().map(|column| column.label.clone()).collect();
        let [key] = table.primary_key.as_slice() else { return frame };
        let Some(place) = frame.position(key) else { return frame };
        let found = lists::list_tables(&frame, &labels, place);
        if found.is_empty() {
            return frame;
        }
        let is_list = |column: usize| found.iter().any(|list| list.column == column);
        let mut rest = Frame::clone(&frame);
        for row in &mut rest.rows {
            let mut at = 0;
            row.retain(|_| {
                at += 1;
                !is_list(at - 1)
            });
        }
        let mut at = 0;
        rest.fields.retain(|_| {
            at += 1;
            !is_list(at - 1)
        });
        let names: Vec<&str> = rest.fields.iter().map(|field| field.name.as_str()).collect();
        table.columns.retain(|column| names.contains(&column.name.as_str()));
        let key = key.clone();
        lists.extend(found.into_iter().map(|list| ChildTable {
            source,
            parent: name.to_owned(),
            key: key.clone(),
            key_label: labels.get(place).cloned().unwrap_or_default(),
            list,
        }));
        Arc::new(rest)
    }
}

impl Session {
    /// Adds the items of a column of lists as a table that refers to its own.
    pub(super) fn add_list(&mut self, child: &ChildTable) -> Result<()> {
        let ChildTable { source, parent, key, key_label, list } = child;
        let name = self.unique(&names::unique(&[format!("{parent}_{}", list.label)]).concat());
        self.engine.add_frame(&name, &list.read.frame)?;
        let columns = profile::columns(&list.read.frame, &list.read.labels, true);
        let refers = columns.iter().find(|column| column.label == *key_label);
        let Some(refers) = refers.map(|column| column.name.clone()) else { return Ok(()) };
        self.assumptions
            .push(format!("{parent}: the items of the lists in {} are rows of the table {name}", list.label));
        self.catalogue.joins.push(Join {
            from: (name.clone(), vec![refers]),
            to: (parent.clone(), vec![key.clone()]),
            evidence: Evidence::Constraint,
        });
        self.catalogue.tables.push(Table {
            label: format!("{} of {parent}", list.label),
            name,
            source: *source,
            rows: Some(list.read.frame.rows.len() as u64),
            primary_key: Vec::new(),
            columns,
        });
        self.rooms.push(TableLocation::Engine);
        Ok(())
    }
}
