//! Questions that lean on the ones before.

use crate::{Fixture, ask, retail, user};
use steward_domain::{ConversationId, ResponseStatus, Role};
use steward_runtime::Error;
use steward_runtime::ask::Ask;
use steward_store::{Page, Scope};

#[tokio::test]
async fn and_texas() {
    let fixture = Fixture::new();
    let first = fixture.ask(ask("total amount in Arizona in 2021", &[retail("sales.csv")])).await;
    let follow = Ask { conversation: first.conversation_id, ..ask("and Texas?", &[]) };
    let second = fixture.ask(follow).await;
    assert_eq!(second.response.status, ResponseStatus::Completed, "{:?}", second.response.error);
    assert_eq!(second.conversation_id, first.conversation_id);
    let whole = fixture.ask(ask("total amount in Texas in 2021", &[retail("sales.csv")])).await;
    assert_eq!(second.tables[0].frame.rows, whole.tables[0].frame.rows);
    let history = fixture
        .app
        .store
        .history(&Scope::User(user()), first.conversation_id.unwrap(), Page::first(10))
        .await
        .unwrap();
    let roles: Vec<Role> = history.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Agent, Role::User, Role::Agent]);
}

#[tokio::test]
async fn an_unknown_conversation_is_refused() {
    let fixture = Fixture::new();
    let lost = Ask { conversation: Some(ConversationId(uuid::Uuid::nil())), ..ask("and Texas?", &[]) };
    let refused = fixture.app.ask(&lost, &|_| {}).await;
    assert!(matches!(refused, Err(Error::NoConversation(_))));
}

#[tokio::test]
async fn a_question_needs_data() {
    let fixture = Fixture::new();
    let refused = fixture.app.ask(&ask("how many?", &[]), &|_| {}).await;
    assert!(matches!(refused, Err(Error::NoData)));
}
