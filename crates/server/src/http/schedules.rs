//! Scheduled questions and workflows, and the alerts on them.

use super::extract::{Authenticated, Input, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::{Listed, Paging, Shared, scope};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use steward_domain::{
    Alert, AlertCondition, AlertId, CatchUp, Delivery, DeliveryTarget, Label, Question, QuietHours, Schedule,
    ScheduleId, ScheduleSubject, TaskId,
};
use steward_runtime::schedule::{NewAlert, NewSchedule};
use steward_runtime::{find_saved, list_saved};
use steward_store::Page;

/// A schedule to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ScheduleRequest {
    /// The cadence: a cron pattern, or text such as "every Monday 8:00 Europe/Berlin".
    #[schemars(length(min = 1, max = 200))]
    cadence: String,
    /// The IANA time zone, unless the cadence names one. The default is UTC.
    #[serde(default)]
    zone: Option<String>,
    /// One of your answers. Its question runs on the same data.
    #[serde(default)]
    task_id: Option<TaskId>,
    /// Alternatively, a workflow or an agent that you may run.
    #[serde(default)]
    workflow: Option<Label>,
    /// The input of the workflow.
    #[serde(default)]
    input: Value,
    /// The name of the schedule.
    #[serde(default)]
    name: Option<Label>,
    /// How missed ticks are handled.
    #[serde(default)]
    catch_up: CatchUp,
    /// The targets of each answer.
    #[serde(default)]
    deliver_to: Vec<DeliveryTarget>,
}

/// An alert to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AlertRequest {
    /// The schedule whose answers are checked.
    schedule_id: ScheduleId,
    /// The name of the alert.
    name: Label,
    /// When the alert fires.
    condition: AlertCondition,
    /// Hours in which no notification is sent.
    #[serde(default)]
    quiet: Option<QuietHours>,
    /// The targets of the notifications.
    #[serde(default)]
    notify: Vec<DeliveryTarget>,
}

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/schedules", "Your schedules, newest first")
        .paged()
        .gives_page::<Schedule>()
        .to(get(list));
    api.post("/api/v1/schedules", "Let one of your questions or a workflow run by the clock")
        .takes::<ScheduleRequest>()
        .gives::<Schedule>(201, "It runs from its next tick on.")
        .to(post(add));
    api.get("/api/v1/schedules/{id}", "A schedule with its last ticks and what was sent")
        .gives_object(200, "`schedule`, `ticks`, `deliveries`.")
        .to(get(show));
    api.delete("/api/v1/schedules/{id}", "Remove a schedule and its alerts")
        .gives_nothing("It is gone; its tasks stay.")
        .to(delete(remove));
    api.post("/api/v1/schedules/{id}/pause", "Stop a schedule for now")
        .gives::<Schedule>(200, "It waits.")
        .to(post(pause));
    api.post("/api/v1/schedules/{id}/resume", "Go on with a schedule")
        .gives::<Schedule>(200, "It runs from its next tick on.")
        .to(post(resume));
    api.get("/api/v1/alerts", "Your alerts, newest first").paged().gives_page::<Alert>().to(get(alerts));
    api.post("/api/v1/alerts", "Be told when the answer of a schedule crosses a line")
        .takes::<AlertRequest>()
        .gives::<Alert>(201, "It is looked at after each tick.")
        .to(post(add_alert));
    api.post("/api/v1/alerts/{id}/acknowledge", "Note that you have seen an alert")
        .gives::<Alert>(200, "How it stands.")
        .to(post(acknowledge));
    api.delete("/api/v1/alerts/{id}", "Remove an alert")
        .gives_nothing("It is gone.")
        .to(delete(remove_alert));
}

async fn list(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(paging): Queried<Paging>,
) -> Result<Json<Listed<Schedule>>, Problem> {
    let page = paging.page()?;
    Ok(Json(Paging::listed(page, list_saved(&**site.store(), &scope(&identity), page).await?)))
}

async fn add(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<ScheduleRequest>,
) -> Result<(StatusCode, Json<Schedule>), Problem> {
    let scope = scope(&identity);
    let (subject, title) = match (wanted.task_id, wanted.workflow) {
        (Some(task), None) => {
            let (question, data) = site.app().earlier_question(&scope, task).await?;
            // Read rights are checked again at each tick. A question that may not be asked now is
            // rejected.
            site.toolbox().question_for_caller(&site.caller(&identity), &identity.user, &question, &data)?;
            let question = Question::new(question)?;
            let title: String = question.chars().take(60).collect();
            (ScheduleSubject::Question { question, data }, title)
        }
        (None, Some(workflow)) => {
            if !identity.runs(workflow.as_str()) {
                return Err(Problem::denied(format!("{workflow} may not be run by {}", identity.user)));
            }
            let title = workflow.to_string();
            (ScheduleSubject::Workflow { workflow, input: wanted.input }, title)
        }
        _ => return Err(Problem::input("give task_id or workflow, one of both")),
    };
    let name = match wanted.name {
        Some(name) => name,
        None => Label::new(title)?,
    };
    let new = NewSchedule {
        user: identity.user.clone(),
        name,
        cadence: wanted.cadence,
        zone: wanted.zone.unwrap_or_else(|| "UTC".to_owned()),
        subject,
        catch_up: wanted.catch_up,
        deliver_to: wanted.deliver_to,
    };
    Ok((StatusCode::CREATED, Json(site.runner.add_schedule(new, "api").await?)))
}

async fn show(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ScheduleId>,
) -> Result<Json<Value>, Problem> {
    let (store, scope) = (&**site.store(), scope(&identity));
    let schedule: Schedule = find_saved(store, &scope, id.0).await?;
    let ticks = store.ticks(&scope, id, Page::first(50)).await?;
    let sent: Vec<Delivery> = list_saved(store, &scope, Page::first(200)).await?;
    let sent: Vec<Delivery> = sent.into_iter().filter(|one| one.schedule_id == Some(id)).collect();
    Ok(Json(json!({ "schedule": schedule, "ticks": ticks, "deliveries": sent })))
}

async fn remove(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ScheduleId>,
) -> Result<StatusCode, Problem> {
    site.runner.remove_schedule(&scope(&identity), id, "api").await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn pause(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ScheduleId>,
) -> Result<Json<Schedule>, Problem> {
    Ok(Json(site.runner.pause_schedule(&scope(&identity), id, true, "api").await?))
}

async fn resume(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ScheduleId>,
) -> Result<Json<Schedule>, Problem> {
    Ok(Json(site.runner.pause_schedule(&scope(&identity), id, false, "api").await?))
}

async fn alerts(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(paging): Queried<Paging>,
) -> Result<Json<Listed<Alert>>, Problem> {
    let page = paging.page()?;
    Ok(Json(Paging::listed(page, list_saved(&**site.store(), &scope(&identity), page).await?)))
}

async fn add_alert(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<AlertRequest>,
) -> Result<(StatusCode, Json<Alert>), Problem> {
    let AlertRequest { schedule_id, name, condition, quiet, notify } = wanted;
    let new = NewAlert { schedule: schedule_id, name, condition, quiet, notify };
    Ok((StatusCode::CREATED, Json(site.runner.add_alert(&scope(&identity), new, "api").await?)))
}

async fn acknowledge(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<AlertId>,
) -> Result<Json<Alert>, Problem> {
    Ok(Json(site.runner.acknowledge(&scope(&identity), id, &identity.user, "api").await?))
}

async fn remove_alert(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<AlertId>,
) -> Result<StatusCode, Problem> {
    site.runner.remove_alert(&scope(&identity), id, "api").await?;
    Ok(StatusCode::NO_CONTENT)
}
