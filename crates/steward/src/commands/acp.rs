//! `steward acp`: Steward as an agent of an editor, over its pipes.

use super::Context;
use crate::error::Failure;
use clap::Args;
use tokio_util::sync::CancellationToken;

#[derive(Args)]
#[command(after_help = "An editor that speaks the agent client protocol starts it:
  { \"command\": \"steward\", \"args\": [\"acp\"] }")]
pub(crate) struct Acp {}

pub(super) async fn run(context: &Context, _: Acp) -> Result<(), Failure> {
    crate::isolation::install(&context.home, &context.settings, context.memory());
    let chat = super::chat::chat_service(context).await?;
    super::ask::end_interrupted(chat.toolbox().app(), &context.scope).await;
    let (caller, stop) = (crate::toolbox::caller(context), CancellationToken::new());
    let mut serving = Box::pin(steward_server::acp::serve_stdio(chat.clone(), caller, stop.clone()));
    let served = tokio::select! {
        served = &mut serving => served,
        () = super::stopped() => {
            stop.cancel();
            serving.await
        }
    };
    chat.toolbox().close().await;
    served.map_err(Failure::unexpected)
}
