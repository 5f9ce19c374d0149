//! Fixtures that answer at once: contents, prompts and resources.

use rmcp::model::{
    CallToolResponse, CallToolResult, ErrorCode, ErrorData, GetPromptResponse, GetPromptResult,
    ReadResourceResponse, ReadResourceResult,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A red pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound without samples.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// A part of the protocol from its JSON.
pub(crate) fn made<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A result that is complete; older protocols know no other, and the SDK leaves the word out for them.
pub(crate) fn complete<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    value["resultType"] = json!("complete");
    made(value)
}

/// A result with these contents.
pub(crate) fn contents(contents: &Value) -> Result<CallToolResponse, ErrorData> {
    complete::<CallToolResult>(json!({"content": contents})).map(CallToolResponse::Complete)
}

/// A result that is one text.
pub(crate) fn text(text: &str) -> Result<CallToolResponse, ErrorData> {
    contents(&json!([{"type": "text", "text": text}]))
}

/// A tool that needs nothing but its name.
pub(crate) fn tool(name: &str) -> Option<Result<CallToolResponse, ErrorData>> {
    let image = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
    let resource = |uri: &str, kind: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}});
    Some(match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => contents(&json!([image])),
        "test_audio_content" => contents(&json!([{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}])),
        "test_embedded_resource" => {
            contents(&json!([resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]))
        }
        "test_multiple_content_types" => contents(&json!([
            {"type": "text", "text": "Multiple content types test:"},
            image,
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ])),
        "test_error_handling" => complete::<CallToolResult>(
            json!({"isError": true, "content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}]}),
        )
        .map(CallToolResponse::Complete),
        "json_schema_2020_12_tool" | "test_custom_header" => text("taken"),
        _ => return None,
    })
}

/// A prompt that needs nothing but its arguments.
pub(crate) fn prompt(name: &str, arguments: &Value) -> Result<GetPromptResponse, ErrorData> {
    let prompt_of = |contents: Vec<Value>| {
        let messages: Vec<Value> = contents
            .into_iter()
            .map(|content| json!({"role": "user", "content": content}))
            .collect();
        complete::<GetPromptResult>(json!({"messages": messages})).map(GetPromptResponse::Complete)
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let given = |name: &str| {
        arguments[name].as_str().ok_or_else(|| {
            ErrorData::invalid_params(format!("the argument `{name}` is missing"), None)
        })
    };
    match name {
        "test_simple_prompt" => prompt_of(vec![text("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => prompt_of(vec![text(&format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            given("arg1")?,
            given("arg2")?
        ))]),
        "test_prompt_with_embedded_resource" => {
            let resource = json!({"uri": given("resourceUri")?, "mimeType": "text/plain", "text": "Embedded resource content for testing."});
            prompt_of(vec![
                json!({"type": "resource", "resource": resource}),
                text("Please process the embedded resource above."),
            ])
        }
        "test_prompt_with_image" => prompt_of(vec![
            json!({"type": "image", "data": PIXEL, "mimeType": "image/png"}),
            text("Please analyze the image above."),
        ]),
        _ => Err(ErrorData::invalid_params(format!("there is no prompt `{name}`"), None)),
    }
}

/// A resource by its address.
pub(crate) fn resource(uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, id) {
        ("test://static-text", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        ("test://watched-resource", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "Nothing happened yet."})
        }
        ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PIXEL}),
        (_, Some(id)) => {
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
        }
        _ => {
            return Err(ErrorData::new(
                ErrorCode::INVALID_PARAMS,
                "there is no such resource",
                Some(json!({"uri": uri})),
            ));
        }
    };
    let read = complete::<ReadResourceResult>(
        json!({"contents": [content], "ttlMs": 0, "cacheScope": "private"}),
    )?;
    Ok(ReadResourceResponse::Complete(read))
}
