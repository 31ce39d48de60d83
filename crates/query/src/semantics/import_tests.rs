//! Documents of other tools: what is taken over, and what is said to be left out.

use super::*;
use steward_domain::Check as _;

fn metricflow() -> Json {
    json!({
        "semantic_models": [{
            "name": "orders", "description": "one order", "node_relation": { "alias": "fct_orders" },
            "defaults": { "agg_time_dimension": "ordered_at" },
            "entities": [
                { "name": "order", "type": "primary", "expr": "order_id" },
                { "name": "customer", "type": "foreign", "expr": "customer_id" },
            ],
            "dimensions": [{ "name": "ordered_at", "type": "time", "expr": "order_date" }],
            "measures": [
                { "name": "order_total", "agg": "sum", "expr": "amount" },
                { "name": "order_cost", "agg": "sum", "expr": "cost", "create_metric": true },
                { "name": "order_count", "agg": "count", "expr": "1" },
                { "name": "buyers", "agg": "count_distinct", "expr": "customer_id" },
                { "name": "large", "agg": "sum_boolean", "expr": "is_large" },
                { "name": "odd", "agg": "sum", "expr": "case when x then 1 end" },
            ],
        }],
        "metrics": [
            { "name": "revenue", "type": "simple", "label": "Turnover", "type_params": { "measure": { "name": "order_total" } },
              "filter": { "where_filters": [{ "where_sql_template": "{{ Dimension('order__returned') }} = \
                  'no'" }] } },
            { "name": "cost_ratio", "type": "ratio", "type_params": {
                "numerator": { "name": "order_cost" }, "denominator": { "name": "revenue" } } },
            { "name": "profit", "type": "derived", "type_params": { "expr": "revenue - costs",
                "metrics": [{ "name": "revenue" }, { "name": "order_cost", "alias": "costs" }] } },
            { "name": "revenue_ytd", "type": "cumulative", "type_params": { "measure": { "name": "order_total" },
                "cumulative_type_params": { "grain_to_date": "year" } } },
            { "name": "rolling", "type": "cumulative", "type_params": { "measure": "order_total", "window": { "count": 7 } } },
            { "name": "growth", "type": "derived", "type_params": { "expr": "revenue - before",
                "metrics": [{ "name": "revenue" }, { "name": "revenue", "alias": "before", "offset_window": "1 month" }] } },
            { "name": "of_odd", "type": "simple", "type_params": { "measure": { "name": "odd" } } },
            { "name": "of_that", "type": "ratio", "type_params": { "numerator": "of_odd", "denominator": "revenue" } },
            { "name": "funnel", "type": "conversion", "type_params": {} },
        ],
    })
}

#[test]
fn metricflow_is_taken_over_and_the_rest_is_said() {
    let found = import(&metricflow()).unwrap();
    let model = found.model.validate().unwrap().into_inner();
    let table = &model.tables["fct_orders"];
    assert_eq!(
        (table.key.as_slice(), table.default_time.as_deref()),
        (["order_id".to_owned()].as_slice(), Some("order_date"))
    );
    let names: Vec<&str> = model.metrics.keys().map(String::as_str).collect();
    assert_eq!(names, ["cost ratio", "order cost", "order total", "profit", "revenue", "revenue ytd"]);
    let revenue = &model.metrics["revenue"];
    assert_eq!(
        (revenue.expression.as_deref(), revenue.synonyms.as_slice()),
        (Some("sum(amount)"), ["Turnover".to_owned()].as_slice())
    );
    assert_eq!(
        (revenue.filters[0].column.as_str(), revenue.filters[0].is.as_slice()),
        ("returned", ["no".to_owned()].as_slice())
    );
    assert_eq!(model.metrics["profit"].derived.as_deref(), Some("{revenue} - {order cost}"));
    let to_date = model.metrics["revenue ytd"].cumulative.as_ref().unwrap();
    assert_eq!((to_date.of.as_str(), to_date.since), ("order total", CumulativeSince::Year));
    let told = found.left_out.join("\n");
    for name in ["large:", "odd:", "rolling:", "growth:", "of_odd:", "of that:", "funnel:"] {
        assert!(told.contains(name), "{name} {told}");
    }
    assert_eq!(found.left_out.len(), 7, "{told}");
}

#[test]
fn cube_and_open_semantic_interchange_are_taken_over() {
    let cube = json!({ "cubes": [{
        "name": "orders", "sql_table": "public.orders", "joins": [{ "name": "customers" }],
        "dimensions": [{ "name": "id", "sql": "{CUBE}.order_id", "type": "number", "primary_key": true }],
        "measures": [
            { "name": "count", "type": "count" },
            { "name": "total_amount", "type": "sum", "sql": "amount", "title": "Revenue",
              "filters": [{ "sql": "{CUBE}.status = 'done'" }] },
            { "name": "rate", "type": "number", "sql": "{total_amount} / {count}" },
        ],
        "segments": [{ "name": "large_orders", "sql": "{CUBE}.amount > 500" }],
    }] });
    let found = import(&cube).unwrap();
    assert_eq!(found.model.metrics["count"].expression.as_deref(), Some("count(*)"));
    assert_eq!(found.model.metrics["total amount"].filters[0].column, "status");
    assert_eq!(found.model.segments["large orders"].filters[0].above, Some(500.0));
    assert_eq!(found.left_out.len(), 2, "{:?}", found.left_out);
    let dialects =
        |expression: &str| json!({ "dialects": [{ "dialect": "ANSI_SQL", "expression": expression }] });
    let interchange = json!({ "semantic_model": [{
        "name": "shop", "datasets": [{ "name": "orders", "source": "orders", "primary_key": ["order_id"] }],
        "metrics": [
            { "name": "revenue", "expression": dialects("SUM(orders.amount)"), "ai_context": { "synonyms": ["turnover"] } },
            { "name": "buyers", "expression": dialects("COUNT(DISTINCT orders.customer_id)") },
            { "name": "odd", "expression": dialects("SUM(orders.amount) / COUNT(*)") },
        ],
    }] });
    let found = import(&interchange).unwrap();
    assert_eq!(found.model.metrics["buyers"].expression.as_deref(), Some("count_distinct(customer_id)"));
    assert_eq!(found.model.metrics["revenue"].synonyms, ["turnover"]);
    assert_eq!(found.left_out.len(), 1, "{:?}", found.left_out);
    // What is written is read again.
    let (written, left_out) = export(&found.model, "shop");
    assert!(left_out.is_empty(), "{left_out:?}");
    assert_eq!(import(&written).unwrap().model.metrics, found.model.metrics);
    assert!(import(&json!({ "x": 1 })).is_err());
}
