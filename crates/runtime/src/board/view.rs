//! The view of a board for one viewer: each tile runs with the viewer's grants and the filters.

use super::cache::{BoardCache, Wanted};
use super::filter::{FilterRules, filter_rules, filtered_column};
use crate::ask::{AppContext, Ask, Reading, SourceUsed, Workspace, run_arguments, sources_of_statement};
use crate::error::{Error, Result};
use crate::verified::{digest, loaded};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use steward_analysis::catalogue::Catalogue;
use steward_analysis::chart::{self, Spec};
use steward_analysis::frame::{Frame, Kind, Unit, Value};
use steward_analysis::query::{Aggregate, Expr, Item, Query};
use steward_analysis::session::Session;
use steward_analysis::tools::Workbench;
use steward_analysis::verified::Statement;
use steward_analysis::{semantics, shape};
use steward_domain::{
    Board, BoardFilter, Coded as _, SemanticModel, Tile, TileContent, TileId, TileView, TileWidth, Timestamp,
    UserId, VerifiedStatement,
};

/// The maximum number of rows of a tile.
pub(super) const MOST_ROWS: usize = 500;
/// The maximum number of values that a filter offers.
const MAX_FILTER_OPTIONS: u64 = 200;

/// The choices of a viewer.
#[derive(Debug, Clone, Default)]
pub struct BoardChoice {
    /// Replaces the board's filters over the same columns.
    pub filters: Vec<BoardFilter>,
    /// Replaces all other filters over the same columns; set by a link.
    pub locked: Vec<BoardFilter>,
    /// Read again, ignoring the cache.
    pub refresh: bool,
}

/// The access rights of a viewer to some data, or the reason of a refusal.
pub type DataGrantsResolver<'a> = &'a (dyn Fn(&[String]) -> Result<Ask> + Send + Sync);

/// A board as one viewer sees it.
#[derive(Debug, Clone, Serialize)]
pub struct BoardView {
    /// The board; only its owner gets its links.
    pub board: Board,
    /// The time of the read.
    pub as_of: Timestamp,
    /// The time when the cached rows expire.
    pub fresh_until: Timestamp,
    /// Whether the rows come from the cache.
    pub cached: bool,
    /// The filters with their options.
    pub filters: Vec<FilterChoices>,
    /// The tiles in order.
    pub tiles: Vec<TileRows>,
}

/// A filter with its options.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FilterChoices {
    /// The effective filter.
    #[serde(flatten)]
    pub filter: BoardFilter,
    /// `text`, `number`, `date`, `boolean`; `None` when the viewer has no such column.
    pub kind: Option<&'static str>,
    /// The existing values, if there are few.
    pub options: Vec<String>,
    /// The smallest and largest value, for dates and numbers.
    pub range: Option<(String, String)>,
}

/// The status of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TileStatus {
    /// The tile has its rows or text.
    Ready,
    /// The viewer may not see it.
    Refused,
    /// The statement failed.
    Failed,
}

/// A column of a tile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TileColumn {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: Kind,
    /// The unit of its numbers.
    pub unit: Unit,
}

/// A tile with its rows.
#[derive(Debug, Clone, Serialize)]
pub struct TileRows {
    /// The id of the tile.
    pub id: TileId,
    /// The title.
    pub title: String,
    /// The width in its row.
    pub width: TileWidth,
    /// The status.
    pub status: TileStatus,
    /// The error message.
    pub error: Option<String>,
    /// The error code.
    pub error_code: Option<String>,
    /// The text of a text tile.
    pub text: Option<String>,
    /// The question.
    pub question: Option<String>,
    /// The view of the rows: `number`, `chart` or `table`.
    pub view: TileView,
    /// The formatted value of a number tile.
    pub number: Option<String>,
    /// The columns.
    pub columns: Vec<TileColumn>,
    /// The rows.
    pub rows: Vec<Vec<Json>>,
    /// Whether more rows exist.
    pub truncated: bool,
    /// The chart as a Vega-Lite document.
    pub vega_lite: Option<Json>,
    /// The statement as it was admitted for this viewer.
    pub sql: Option<String>,
    /// The sources of the rows.
    pub sources: Vec<SourceUsed>,
    /// The definition of the metric that was used.
    pub definition: Option<String>,
    /// The filters that apply to it.
    pub filtered_by: Vec<String>,
    /// The set filters without a column here.
    pub not_filtered_by: Vec<String>,
    /// The duration of the read.
    pub milliseconds: u64,
    /// The rows with their types.
    #[serde(skip)]
    pub frame: Option<Frame>,
    /// The chart and its rendering.
    #[serde(skip)]
    pub drawing: Option<(Spec, String)>,
}

/// The rows of all tiles.
#[derive(Debug)]
pub(super) struct BoardRows {
    as_of: Timestamp,
    filters: Vec<FilterChoices>,
    tiles: Vec<TileRows>,
}

impl BoardRows {
    /// Whether a tile failed.
    pub(super) fn has_failures(&self) -> bool {
        self.tiles.iter().any(|tile| tile.status == TileStatus::Failed)
    }
}

impl AppContext {
    /// The view of a board for a viewer. Each read of data is an entry in the journal. So is the
    /// first time that a viewer gets rows which were read for another.
    pub async fn view_board(
        &self,
        board: &Board,
        viewer: &UserId,
        choice: &BoardChoice,
        grants: DataGrantsResolver<'_>,
        cache: Option<&BoardCache>,
    ) -> Result<BoardView> {
        let filters = filters_now(board, choice);
        let began = self.clock.now();
        let read = || self.read_board(board, &filters, grants, viewer, began);
        let (rows, cached) = match cache.filter(|_| board.fresh_seconds > 0) {
            None => (Arc::new(Box::pin(read()).await?), false),
            Some(cache) => {
                let wanted = Wanted {
                    key: self.key_of(board, &filters, grants)?,
                    viewer,
                    now: began,
                    fresh_seconds: board.fresh_seconds,
                    anew: choice.refresh,
                };
                let found = Box::pin(cache.get(wanted, read())).await?;
                let cached = found.rows.as_of < began;
                if cached && found.is_first_view {
                    self.note_board_read(board, viewer, found.rows.as_of, true).await?;
                }
                (found.rows, cached)
            }
        };
        let until = rows.as_of.micros().saturating_add(i64::from(board.fresh_seconds) * 1_000_000);
        let mut shown = board.clone();
        if *viewer != board.user_id {
            shown.links.clear();
        }
        Ok(BoardView {
            board: shown,
            as_of: rows.as_of,
            fresh_until: Timestamp::from_micros(until),
            cached,
            filters: rows.filters.clone(),
            tiles: rows.tiles.clone(),
        })
    }

    /// The cache key: everything that the rows of a board depend on.
    fn key_of(
        &self,
        board: &Board,
        filters: &[BoardFilter],
        grants: DataGrantsResolver<'_>,
    ) -> Result<String> {
        let over = |data: &Vec<String>| match grants(data) {
            Ok(ask) => json!({
                "policy": ask.policy, "tables": ask.tables, "rows": ask.rows, "constraints": ask.constraints,
            }),
            Err(error) => json!({ "refused": error.to_string() }),
        };
        let data: BTreeSet<&Vec<String>> = board.tiles.iter().filter_map(data_of).collect();
        let held: Vec<Json> = data.into_iter().map(over).collect();
        Ok(digest(&json!({
            "board": board.id, "changed": board.updated_at, "filters": filters, "held": held,
            "semantics": self.semantic_model()?,
        })))
    }

    /// The semantic model with the definitions of metrics.
    pub(crate) fn semantic_model(&self) -> Result<SemanticModel> {
        self.artifacts.parent().map_or_else(|| Ok(SemanticModel::default()), crate::semantics::load_semantics)
    }

    /// The reading of a question that names a metric, by the current definition.
    pub(crate) fn metric_reading(
        &self,
        question: &str,
        model: &SemanticModel,
        visible: &Catalogue,
    ) -> Result<Option<(Reading, String)>> {
        if model.metrics.is_empty() {
            return Ok(None);
        }
        let today = self.clock.now().to_chrono().date_naive();
        let meaning = |a: &str, b: &str| self.encoder.similarity(a, b);
        let worded = semantics::rephrase(question, model, visible);
        let question = worded.as_ref().map_or(question, |worded| &worded.question);
        match semantics::read(question, model, visible, today, &meaning) {
            None => Ok(None),
            Some(semantics::MetricOutcome::Read(reading, metric)) => Ok(Some((*reading, metric.definition))),
            Some(semantics::MetricOutcome::Refused(why)) => Err(Error::Board(why)),
        }
    }

    async fn read_board(
        &self,
        board: &Board,
        filters: &[BoardFilter],
        grants: DataGrantsResolver<'_>,
        viewer: &UserId,
        as_of: Timestamp,
    ) -> Result<BoardRows> {
        let model = self.semantic_model()?;
        let mut choices: Vec<FilterChoices> = filters
            .iter()
            .map(|filter| FilterChoices {
                filter: filter.clone(),
                kind: None,
                options: Vec::new(),
                range: None,
            })
            .collect();
        let mut done: Vec<TileRows> = Vec::new();
        let data: BTreeSet<&Vec<String>> = board.tiles.iter().filter_map(data_of).collect();
        for data in data {
            let of_data: Vec<&Tile> = board.tiles.iter().filter(|tile| data_of(tile) == Some(data)).collect();
            let opened = match grants(data) {
                Ok(ask) => OpenData::open(self, &ask, data, filters, &mut choices).await,
                Err(error) => Err(error),
            };
            for tile in of_data {
                done.push(match &opened {
                    Ok(open) => open.run(self, tile, filters, &model).await,
                    Err(error) => TileRows::without(tile, error),
                });
            }
        }
        let in_order = |tile: &Tile| match &tile.content {
            TileContent::Text(text) => Some(TileRows::words(tile, text)),
            TileContent::Answer { .. } => done.iter().find(|one| one.id == tile.id).cloned(),
        };
        let tiles: Vec<TileRows> = board.tiles.iter().filter_map(in_order).collect();
        if !done.is_empty() {
            self.note_board_read(board, viewer, as_of, false).await?;
        }
        Ok(BoardRows { as_of, filters: choices, tiles })
    }
}

/// The effective filters: the viewer's replace the board's, those of a link replace both.
fn filters_now(board: &Board, choice: &BoardChoice) -> Vec<BoardFilter> {
    let same = |a: &BoardFilter, b: &BoardFilter| a.column.eq_ignore_ascii_case(&b.column);
    let chosen = |filter: &BoardFilter| choice.filters.iter().find(|one| same(one, filter));
    let others = choice.filters.iter().filter(|one| !board.filters.iter().any(|known| same(known, one)));
    let free = board.filters.iter().map(|filter| chosen(filter).unwrap_or(filter)).chain(others);
    let free = free.filter(|filter| !choice.locked.iter().any(|locked| same(locked, filter)));
    free.chain(&choice.locked).cloned().collect()
}

/// The data of a tile.
fn data_of(tile: &Tile) -> Option<&Vec<String>> {
    match &tile.content {
        TileContent::Answer { data, .. } => Some(data),
        TileContent::Text(_) => None,
    }
}

/// Data opened for one viewer.
pub(super) struct OpenData {
    bench: Workbench,
    visible: Catalogue,
    rules: FilterRules,
}

impl OpenData {
    /// Opens data with the access rights of its reader.
    pub(super) async fn open(
        context: &AppContext,
        ask: &Ask,
        data: &[String],
        filters: &[BoardFilter],
        choices: &mut [FilterChoices],
    ) -> Result<Self> {
        let session = Session::open(data, context.options).await?;
        let mut bench = Workbench::new(session, ask.access(), ask.limits());
        let visible = bench.session.visible(&bench.access);
        for choice in choices.iter_mut().filter(|choice| choice.kind.is_none()) {
            offer(choice, &bench, &visible).await?;
        }
        let rules = filter_rules(filters, &visible, &bench.access, &bench.session)?;
        bench.access.rows = rules.rows.clone();
        Ok(Self { bench, visible, rules })
    }

    /// Runs a tile. An error is reported in the tile.
    async fn run(
        &self,
        context: &AppContext,
        tile: &Tile,
        filters: &[BoardFilter],
        model: &SemanticModel,
    ) -> TileRows {
        let TileContent::Answer { question, statement, view, .. } = &tile.content else {
            return TileRows::empty(tile);
        };
        let began = context.clock.monotonic();
        let run = self.statement_rows(context, tile, question.as_str(), statement, *view, model).await;
        let mut rows = run.unwrap_or_else(|error| TileRows::without(tile, &error));
        let read: BTreeSet<String> = rows
            .sql
            .iter()
            .flat_map(|sql| self.bench.tables_read(sql))
            .map(|name| name.to_lowercase())
            .collect();
        for filter in filters.iter().filter(|filter| filter.is_set() && rows.status == TileStatus::Ready) {
            let reaches = |(table, columns): (&String, &BTreeSet<String>)| {
                read.contains(&table.to_lowercase()) && columns.contains(&filter.column)
            };
            let list = if self.rules.reach.iter().any(reaches) {
                &mut rows.filtered_by
            } else {
                &mut rows.not_filtered_by
            };
            list.push(filter.column.clone());
        }
        rows.milliseconds =
            u64::try_from(context.clock.monotonic().saturating_sub(began).as_millis()).unwrap_or(u64::MAX);
        rows
    }

    async fn statement_rows(
        &self,
        context: &AppContext,
        tile: &Tile,
        question: &str,
        statement: &VerifiedStatement,
        view: TileView,
        model: &SemanticModel,
    ) -> Result<TileRows> {
        let mut definition = None;
        let mut statement = loaded(statement)?;
        // A metric has one definition: a question that names it uses the current definition.
        if matches!(statement, Statement::Reading(_))
            && let Some((reading, said)) = context.metric_reading(question, model, &self.visible)?
        {
            statement = Statement::Reading(Box::new(reading));
            definition = Some(said);
        }
        let workspace = Workspace { bench: &self.bench, visible: &self.visible };
        let arguments = workspace.arguments(&statement)?;
        let output = self.bench.call("sql.run", &arguments, &format!("tile_{}", tile.id.0.simple())).await?;
        let mut frame = output.frame.ok_or_else(|| Error::Board("the statement gives no rows".to_owned()))?;
        if let Statement::Reading(reading) = &statement
            && let Some(named) = reading.queries.first()
        {
            let catalogue = self.bench.session.catalogue();
            for (field, unit) in frame.fields.iter_mut().zip(shape::units(&named.query, catalogue)) {
                field.unit = unit;
            }
            shape::restore_times(&mut frame, &named.query, catalogue);
            shape::spell_times(&mut frame, &named.query, &self.bench.session);
        }
        let truncated = output.cut || frame.rows.len() > MOST_ROWS;
        let sources =
            output.sql.as_deref().map(|sql| sources_of_statement(&self.bench, sql)).unwrap_or_default();
        // A viewer must not see the paths of the owner's files.
        let named = |source: SourceUsed| SourceUsed { location: source.name.clone(), ..source };
        let sources = sources.into_iter().map(named).collect();
        let mut rows = TileRows::empty(tile);
        rows.show(frame, view, &statement);
        Ok(TileRows { truncated, sql: output.sql, sources, definition, ..rows })
    }
}

/// Finds the options of a filter, with the viewer's grants and without the filters.
async fn offer(choice: &mut FilterChoices, bench: &Workbench, visible: &Catalogue) -> Result<()> {
    let Some((table, column)) = filtered_column(&choice.filter, visible, &bench.access) else {
        return Ok(());
    };
    let expr = Expr::Column(table.name.clone(), column.name.clone());
    let item = |expr: Expr, name: &str| Item { expr, name: name.to_owned() };
    let query = Query { table: table.name.clone(), alias: table.name.clone(), ..Query::default() };
    let ranged = column.kind.is_number() || column.kind.is_time();
    choice.kind = Some(match column.kind {
        Kind::Text => "text",
        Kind::Boolean => "boolean",
        Kind::Integer | Kind::Number => "number",
        Kind::Date | Kind::Timestamp => "date",
    });
    let query = if ranged {
        let over = |aggregate| Expr::Aggregate(aggregate, vec![expr.clone()]);
        let items = vec![item(over(Aggregate::Min), "least"), item(over(Aggregate::Max), "most")];
        Query { items, ..query }
    } else {
        let items = vec![item(expr.clone(), "value")];
        let order = vec![(expr.clone(), false)];
        Query { items, distinct: true, order, limit: Some(MAX_FILTER_OPTIONS + 1), ..query }
    };
    let output = bench.call("sql.run", &run_arguments(bench, &query), "board_filter_values").await?;
    let frame = output.frame.unwrap_or_default();
    let text = |value: &Value| {
        let plain = value.plain();
        if column.kind.is_time() { plain.chars().take(10).collect() } else { plain }
    };
    if ranged {
        let ends = (frame.cell(0, 0), frame.cell(0, 1));
        choice.range = (!ends.0.is_null()).then(|| (text(ends.0), text(ends.1)));
    } else {
        choice.options = frame
            .column(0)
            .filter(|value| !value.is_null())
            .take(MAX_FILTER_OPTIONS as usize)
            .map(text)
            .collect();
    }
    Ok(())
}

impl TileRows {
    pub(super) fn empty(tile: &Tile) -> Self {
        let question = match &tile.content {
            TileContent::Answer { question, .. } => Some(question.to_string()),
            TileContent::Text(_) => None,
        };
        Self {
            id: tile.id,
            title: tile.title.clone(),
            width: tile.width,
            status: TileStatus::Ready,
            error: None,
            error_code: None,
            text: None,
            question,
            view: TileView::Table,
            number: None,
            columns: Vec::new(),
            rows: Vec::new(),
            truncated: false,
            vega_lite: None,
            sql: None,
            sources: Vec::new(),
            definition: None,
            filtered_by: Vec::new(),
            not_filtered_by: Vec::new(),
            milliseconds: 0,
            frame: None,
            drawing: None,
        }
    }

    fn words(tile: &Tile, text: &str) -> Self {
        Self { text: Some(text.to_owned()), ..Self::empty(tile) }
    }

    fn without(tile: &Tile, error: &Error) -> Self {
        let denied = error.class() == steward_domain::ErrorClass::Denied;
        let status = if denied { TileStatus::Refused } else { TileStatus::Failed };
        let code = error.code().to_owned();
        Self { status, error: Some(error.to_string()), error_code: Some(code), ..Self::empty(tile) }
    }

    /// Sets the rows and chooses their view.
    fn show(&mut self, mut frame: Frame, wanted: TileView, statement: &Statement) {
        let number = || frame.rows.first()?.iter().position(|value| value.number().is_some());
        let single = frame.rows.len() == 1 && frame.fields.len() == 1;
        self.view = match wanted {
            TileView::Auto if single && number().is_some() => TileView::Number,
            TileView::Auto => TileView::Chart,
            other => other,
        };
        if self.view == TileView::Number {
            self.number = number().map(|column| chart::formatted(&frame, 0, column));
        }
        if self.view == TileView::Chart {
            let spec =
                planned(statement, &self.title).filter(|spec| chart::draw_vector(spec, &frame).is_ok());
            let spec = spec.or_else(|| chart::suggest(&frame, &self.title));
            match spec.and_then(|spec| chart::draw_vector(&spec, &frame).ok().map(|drawn| (spec, drawn))) {
                Some((spec, (svg, vega_lite))) => {
                    self.vega_lite = Some(vega_lite);
                    self.drawing = Some((spec, svg));
                }
                None => self.view = TileView::Table,
            }
        }
        frame.rows.truncate(MOST_ROWS);
        self.columns = frame
            .fields
            .iter()
            .map(|field| TileColumn { name: field.name.clone(), kind: field.kind, unit: field.unit })
            .collect();
        self.rows = frame.rows.iter().map(|row| row.iter().map(Value::json).collect()).collect();
        self.frame = Some(frame);
    }
}

/// The chart that the reader planned for the first query of a reading.
fn planned(statement: &Statement, title: &str) -> Option<Spec> {
    let Statement::Reading(reading) = statement else { return None };
    let wish = reading.charts.iter().find(|wish| wish.query == 0)?;
    Some(Spec {
        kind: wish.kind,
        title: title.to_owned(),
        subtitle: None,
        x: wish.x.clone(),
        y: wish.y.clone(),
        series: wish.series.clone(),
        x_title: None,
        y_title: None,
    })
}
