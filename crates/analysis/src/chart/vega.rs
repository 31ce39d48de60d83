//! The same chart as a Vega-Lite 5 document with inline data.
//!
//! Invariant: fields are always named `x`, `y` and `series`, so that no column name can be read as
//! a path. Column names appear only as titles.

use super::axis::sane;
use super::data::{self, AxisKind, Plot};
use super::draw::{heading, measure_name};
use super::{ChartError, ChartKind, Spec, bars, lines, map, spread, time};
use crate::frame::{Frame, Unit, Value};
use serde_json::{Map, Value as Json, json};

const MOST_ROWS: usize = 20_000;

/// The document.
pub(super) fn document(spec: &Spec, frame: &Frame) -> Result<Json, ChartError> {
    let (values, mark, encoding, notes) = match spec.kind {
        ChartKind::Histogram => histogram(spec, frame)?,
        ChartKind::Scatter | ChartKind::Box => raw(spec, frame)?,
        ChartKind::Pie => pie(spec, frame)?,
        ChartKind::Line | ChartKind::Area => series(spec, &lines::prepare(spec, frame)?),
        ChartKind::Heatmap => series(spec, &map::prepare(spec, frame)?),
        ChartKind::Bar | ChartKind::GroupedBar | ChartKind::StackedBar => {
            series(spec, &bars::prepare(spec, frame)?)
        }
    };
    let subtitle: Vec<String> = spec.subtitle.iter().cloned().chain(notes).collect();
    Ok(json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": { "text": spec.title, "subtitle": subtitle.join(" · "), "anchor": "start" },
        "width": 720,
        "height": 360,
        "background": "white",
        "data": { "values": values },
        "mark": mark,
        "encoding": encoding,
        "config": { "range": { "category": (0..8).map(super::svg::colour).collect::<Vec<_>>() }, "view": { "stroke": null } },
    }))
}

type Parts = (Vec<Json>, Json, Json, Vec<String>);

/// The format of an axis of numbers.
fn axis(unit: Unit, title: &str) -> Json {
    let mut axis = Map::new();
    axis.insert("title".into(), title.into());
    let (key, text) = match unit {
        Unit::Plain => ("format", "~s".to_owned()),
        Unit::Year => ("format", "d".to_owned()),
        Unit::Share => ("format", "~%".to_owned()),
        Unit::Percent => ("labelExpr", "format(datum.value, '~g') + ' %'".to_owned()),
        Unit::Currency(sign) => {
            let sign = if sign == '\'' || sign == '\\' { ' ' } else { sign };
            ("labelExpr", format!("(datum.value < 0 ? '-' : '') + '{sign}' + format(abs(datum.value), '~s')"))
        }
    };
    axis.insert("axis".into(), json!({ key: text }));
    Json::Object(axis)
}

fn with(mut axis: Json, more: Json) -> Json {
    if let (Some(axis), Json::Object(more)) = (axis.as_object_mut(), more) {
        axis.extend(more);
    }
    axis
}

/// A time that browsers read as local time, so that no time zone shifts it to another day.
fn iso(seconds: f64) -> Json {
    time::at(seconds).format("%Y-%m-%dT%H:%M:%S").to_string().into()
}

fn series(spec: &Spec, plot: &Plot) -> Parts {
    let bars = matches!(
        spec.kind,
        ChartKind::Bar | ChartKind::GroupedBar | ChartKind::StackedBar | ChartKind::Heatmap
    );
    let ordinal = bars || plot.along == AxisKind::Words;
    let mut values = Vec::new();
    let every = (plot.series.len() * plot.slots.len()).div_ceil(MOST_ROWS).max(1);
    let mut notes = plot.notes.clone();
    if every > 1 {
        notes.push(format!("one of every {every} points"));
    }
    for series in &plot.series {
        for (slot, place) in plot.slots.iter().enumerate().step_by(every) {
            let x: Json = match plot.along {
                _ if ordinal => place.label.as_str().into(),
                AxisKind::Time(_) => iso(place.at),
                _ => place.at.into(),
            };
            values.push(json!({ "x": x, "y": series.value(slot), "series": series.name }));
        }
    }
    let x_title = heading(spec.x_title.as_ref(), &spec.x);
    let x = match plot.along {
        _ if ordinal => json!({ "field": "x", "type": "ordinal", "sort": null, "title": x_title }),
        AxisKind::Number(unit) => with(
            axis(unit, &x_title),
            json!({ "field": "x", "type": "quantitative", "scale": { "zero": false } }),
        ),
        _ => json!({ "field": "x", "type": "temporal", "title": x_title }),
    };
    let y = with(axis(plot.unit, &measure_name(spec)), json!({ "field": "y", "type": "quantitative" }));
    let title = spec.series.as_ref().map(|name| heading(None, name));
    let colour = json!({ "field": "series", "type": "nominal", "sort": null, "title": title });
    let many = plot.series.len() > 1;
    let mut encoding = json!({ "x": x, "y": y });
    let mark = match spec.kind {
        ChartKind::Heatmap => {
            let measure = json!({ "field": "y", "type": "quantitative", "title": measure_name(spec) });
            encoding = json!({ "x": x, "y": colour, "color": measure });
            json!({ "type": "rect", "tooltip": true })
        }
        ChartKind::Line => json!({ "type": "line", "point": plot.slots.len() <= 40, "tooltip": true }),
        ChartKind::Area => json!({ "type": "area", "opacity": 0.85, "tooltip": true }),
        _ => json!({ "type": "bar", "tooltip": true }),
    };
    if many && spec.kind != ChartKind::Heatmap {
        encoding = with(encoding, json!({ "color": colour }));
        if spec.kind == ChartKind::GroupedBar || spec.kind == ChartKind::Bar {
            let offset = json!({ "field": "series", "type": "nominal", "sort": null });
            encoding = with(encoding, json!({ "xOffset": offset }));
        }
    }
    (values, mark, encoding, notes)
}

fn pie(spec: &Spec, frame: &Frame) -> Result<Parts, ChartError> {
    let (plot, _) = map::parts(spec, frame)?;
    let part = |(slot, place): (usize, &data::Slot)| json!({ "x": place.label, "y": plot.weight(slot) });
    let values = plot.slots.iter().enumerate().map(part).collect();
    let title = heading(spec.x_title.as_ref(), &spec.x);
    let encoding = json!({
        "theta": { "field": "y", "type": "quantitative", "stack": true, "title": measure_name(spec) },
        "color": { "field": "x", "type": "nominal", "sort": null, "title": title },
        "order": { "field": "y", "type": "quantitative", "sort": "descending" },
    });
    Ok((values, json!({ "type": "arc", "innerRadius": 80, "tooltip": true }), encoding, plot.notes.clone()))
}

fn histogram(spec: &Spec, frame: &Frame) -> Result<Parts, ChartError> {
    let (at, along, numbers) = spread::measured(spec, frame)?;
    let timed = matches!(along, AxisKind::Time(_));
    let whole = data::whole(frame, at) && !timed;
    let Some(bins) = spread::bins(&numbers, whole, along) else {
        return Err(ChartError::NothingToDraw { reason: format!("\"{}\" has no values", spec.x) });
    };
    let edge = |bin: usize| {
        let value = bins.edge(bin);
        if timed { iso(value) } else { value.into() }
    };
    let bar = |(bin, count): (usize, &usize)| json!({ "x": edge(bin), "end": edge(bin + 1), "y": count });
    let values = bins.counts.iter().enumerate().map(bar).collect();
    let name = frame.fields.get(at).map_or("", |f| f.name.as_str());
    let title = heading(spec.x_title.as_ref(), name);
    let x = if timed {
        json!({ "field": "x", "type": "temporal", "title": title })
    } else {
        let more =
            json!({ "field": "x", "type": "quantitative", "bin": { "binned": true, "step": bins.step() } });
        with(axis(data::unit(frame, at), &title), more)
    };
    let y = json!({ "field": "y", "type": "quantitative", "title": spec.y_title.as_deref().unwrap_or("Number \
        of rows") });
    let encoding = json!({ "x": x, "x2": { "field": "end" }, "y": y });
    Ok((values, json!({ "type": "bar", "tooltip": true }), encoding, vec![data::rows(numbers.len())]))
}

/// Charts of individual rows: scatter and box.
fn raw(spec: &Spec, frame: &Frame) -> Result<Parts, ChartError> {
    let ys = data::measures(spec, frame)?;
    let x = frame.position(&spec.x);
    let split = spec.series.as_deref().map(|name| data::column(frame, name)).transpose()?;
    let boxes = spec.kind == ChartKind::Box;
    let along = x.map_or(AxisKind::Words, |x| data::along(frame, x));
    let place = |value: &Value, measure: &str| match along {
        _ if boxes && ys.len() > 1 => measure.into(),
        AxisKind::Time(_) if !boxes => time::moment(value).map_or(Json::Null, |m| iso(time::seconds(m))),
        AxisKind::Number(_) if !boxes => value.number().and_then(sane).map_or(Json::Null, Into::into),
        _ => data::word(value, Unit::Plain).into(),
    };
    let mut values = Vec::new();
    for row in 0..frame.rows.len() {
        for y in &ys {
            let Some(number) = frame.cell(row, *y).number().and_then(sane) else { continue };
            let measure = frame.fields.get(*y).map_or("", |f| f.name.as_str());
            let at = x.map_or(Json::Null, |x| place(frame.cell(row, x), measure));
            let series = split.map(|split| data::word(frame.cell(row, split), Unit::Plain));
            values.push(
                json!({ "x": at, "y": number, "series": series.unwrap_or_else(|| measure.to_owned()) }),
            );
        }
    }
    let mut notes = Vec::new();
    if values.len() > MOST_ROWS {
        notes.push(format!("first {MOST_ROWS} of {} points", values.len()));
        values.truncate(MOST_ROWS);
    }
    let x_title = heading(spec.x_title.as_ref(), &spec.x);
    let unit = ys.first().map_or(Unit::Plain, |y| data::unit(frame, *y));
    let y = with(
        axis(unit, &measure_name(spec)),
        json!({ "field": "y", "type": "quantitative", "scale": { "zero": false } }),
    );
    let x = match along {
        AxisKind::Time(_) if !boxes => json!({ "field": "x", "type": "temporal", "title": x_title }),
        AxisKind::Number(unit) if !boxes => with(
            axis(unit, &x_title),
            json!({ "field": "x", "type": "quantitative", "scale": { "zero": false } }),
        ),
        _ => json!({ "field": "x", "type": "ordinal", "sort": null, "title": x_title }),
    };
    let mut encoding = json!({ "x": x, "y": y });
    if !boxes && (split.is_some() || ys.len() > 1) {
        let title = spec.series.as_ref().map(|name| heading(None, name));
        encoding =
            with(encoding, json!({ "color": { "field": "series", "type": "nominal", "title": title } }));
    }
    let mark = if boxes {
        json!({ "type": "boxplot", "extent": 1.5 })
    } else {
        json!({ "type": "point", "filled": true, "tooltip": true })
    };
    Ok((values, mark, encoding, notes))
}
