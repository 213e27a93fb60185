-- Asks: the preview, the menu, what is consent and what is not, and the peace of the user who types.

local harness = require('harness')
local equal, contains, with = harness.equal, harness.contains, harness.with

local tests = {}

local COMMAND = [[
  local request = ask({ toolCallId = 'c1', title = 'Run make', kind = 'execute',
    content = { { type = 'content', content = { type = 'text', text = 'make all\nmake test' } } } })
]]
local OUTCOME = [[
  local outcome = await(request).outcome
  say(('outcome %s %s %s.'):format(outcome.outcome, outcome.optionId, outcome._meta and outcome._meta.copydesk.message))
  finish()
]]

function tests.the_preview_is_in_view_before_the_menu()
  with(nil, function(child)
    child:prompt("update({ sessionUpdate = 'tool_call', toolCallId = 'c1', title = 'Run make' })" .. COMMAND .. OUTCOME)
    local menu = child:menu(1)
    equal(menu.prompt, 'Copydesk: Run make', 'the question')
    equal(menu.rows, { 'Allow', 'Always allow', 'Reject', 'Reject, and say what to do instead' }, 'the answers')
    equal(child:preview(), 'make all\nmake test', 'the preview')
    child:wait_chat('[?] Run make')
    contains(child:lua("return require('copydesk').statusline()"), '1 ask', 'the status line')
    child:pick(1, 'Allow')
    child:wait_chat('outcome selected yes nil.')
    equal(child:preview(), nil, 'the preview is closed')
  end)
end

function tests.r4_1_an_edit_is_previewed_as_a_diff()
  with(nil, function(child)
    child:prompt([[
      local request = ask({ toolCallId = 'c1', title = 'Edit', kind = 'edit', content = {
        { type = 'diff', path = '/x/a.txt', oldText = 'one\n', newText = 'ONE\n' },
        { type = 'diff', path = '/x/new.txt', newText = 'new\n' } } })
    ]] .. OUTCOME)
    child:menu(1)
    equal(
      child:preview(),
      '--- /x/a.txt\n+++ /x/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n--- /dev/null\n+++ /x/new.txt\n@@ -0,0 +1 @@\n+new',
      'the diffs'
    )
    equal(
      child:lua('return vim.bo[vim.api.nvim_win_get_buf(vim.fn.win_getid(vim.fn.winnr("$")))].filetype'),
      'diff',
      'its highlighting'
    )
    child:pick(1, 'Always allow')
    child:wait_chat('outcome selected ever nil.')
  end)
end

function tests.r9_4_the_reason_stands_above_the_diff()
  with(nil, function(child)
    child:prompt([[
      local request = ask({ toolCallId = 'c1', title = 'Edit', kind = 'edit', content = {
        { type = 'content', content = { type = 'text', text = 'a rule asks' } },
        { type = 'diff', path = '/x/a.txt', oldText = 'one\n', newText = 'ONE\n' } } })
    ]] .. OUTCOME)
    child:menu(1)
    equal(
      child:preview(),
      'a rule asks\n```diff\n--- /x/a.txt\n+++ /x/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n```',
      'the preview'
    )
    child:pick(1, 'Reject')
    child:wait_chat('outcome selected no nil.')
  end)
end

function tests.c59_the_parts_of_a_command_that_are_asked_are_marked()
  with(nil, function(child)
    local marks = child:lua([[
      local shown = 'git log\ngit push x &&\n  rm y; ls'
      require('copydesk.ask').add({
        sessionId = 's1',
        toolCall = { toolCallId = 'c1', title = 'Run', content = {
          { type = 'content', content = { type = 'text', text = 'a rule asks' } },
          { type = 'content', content = { type = 'text', text = '3 lines, in /x:\n\n```sh\n' .. shown .. '\n```' } },
        } },
        options = { { optionId = 'no', name = 'Reject', kind = 'reject_once' } },
        _meta = { copydesk = { command = { shown = shown, asked = {
          { start = 8, ['end'] = 18, line = 2, text = 'git push x' },
          { start = 12, ['end'] = 28, line = 2, text = 'push x &&\n  rm y' },
        } } } },
      }, function() end)
      local buffer = vim.api.nvim_win_get_buf(vim.fn.win_getid(vim.fn.winnr('$')))
      local found = vim.api.nvim_buf_get_extmarks(buffer, vim.api.nvim_create_namespace('copydesk.ask'), 0, -1, { details = true })
      return vim.iter(found):map(function(mark)
        return table.concat(vim.api.nvim_buf_get_text(buffer, mark[2], mark[3], mark[4].end_row, mark[4].end_col, {}), '|')
          .. ' ' .. mark[4].hl_group
      end):totable()
    ]])
    equal(marks, { 'git push x CopydeskAsked', 'push x &&|  rm y CopydeskAsked' }, 'the marks')
  end)
end

function tests.a_dismissed_menu_is_no_consent_and_comes_back()
  with(nil, function(child)
    child:prompt(COMMAND .. OUTCOME)
    child:pick(1, nil)
    child:wait("return require('copydesk.ask').count() == 1", 'the ask')
    equal({ child:preview(), child:lua('return #_G.menus') }, { nil, 1 }, 'nothing comes up by itself')
    contains(child:told(), 'still waits for an answer', 'what is told')
    child:command('CopydeskAnswer')
    child:pick(2, 'Reject')
    child:wait_chat('outcome selected no nil.')
  end)
end

function tests.a_rejection_can_say_what_to_do_instead()
  with(nil, function(child)
    child:prompt(COMMAND .. OUTCOME)
    child:pick(1, 'Reject, and say what to do instead')
    child:wait('return #_G.inputs == 1', 'the input')
    child:lua('_G.inputs[1].done(nil)')
    equal(child:lua("return require('copydesk.ask').count()"), 1, 'an input that is left is no answer')
    child:command('CopydeskAnswer')
    child:pick(2, 'Reject, and say what to do instead')
    child:wait('return #_G.inputs == 2', 'the input')
    child:lua("_G.inputs[2].done('use ninja')")
    child:wait_chat('outcome selected no use ninja.')
  end)
end

function tests.r16_3_several_asks_are_answered_in_any_order()
  with(nil, function(child)
    child:prompt([[
      local first = ask({ toolCallId = 'c1', title = 'First' })
      local second = ask({ toolCallId = 'c2', title = 'Second' })
      local third = ask({ toolCallId = 'c3', title = 'Third' })
      say('third ' .. await(third).outcome.optionId .. '. ')
      say('first ' .. await(first).outcome.optionId .. '. ')
      say('second ' .. await(second).outcome.optionId .. '.')
      finish()
    ]])
    child:wait("return require('copydesk.ask').count() == 3", 'three asks')
    equal(child:menu(1).prompt, 'Copydesk: First', 'one menu at a time')
    child:command('CopydeskAnswer')
    equal(child:menu(2).rows, { 'First', 'Second', 'Third' }, 'the asks')
    child:pick(2, 'Third')
    child:pick(3, 'Allow')
    child:wait_chat('third yes.')
    equal(child:menu(4).prompt, 'Copydesk: First', 'the next comes up')
    child:pick(4, 'Reject')
    child:pick(5, 'Allow')
    child:wait_chat('first no. second yes.')
  end)
end

function tests.r8_4_nothing_is_allowed_before_all_was_shown()
  with(nil, function(child)
    child:prompt([[
      local request = ask({ toolCallId = 'c1', title = 'Run', content = {
        { type = 'content', content = { type = 'text', text = 'ls' .. ('\n'):rep(80) .. 'curl x | sh' } } } })
    ]] .. OUTCOME)
    local rows = {
      'Read on: not all of the preview is shown (lines: 81)',
      'Reject',
      'Reject, and say what to do instead',
    }
    equal(child:menu(1).rows, rows, 'nothing to allow')
    child:pick(1, rows[1])
    equal(child:lua('return vim.w.copydesk_preview'), true, 'the cursor is in the preview')
    child:type('<CR>')
    equal(child:menu(2).rows, rows, 'not read yet')
    child:pick(2, rows[1])
    child:type('Gq')
    equal(child:menu(3).rows[1], 'Allow', 'read to the end')
    child:pick(3, 'Allow')
    child:wait_chat('outcome selected yes nil.')
  end)
end

function tests.r8_4_one_line_that_is_longer_than_the_window_is_read_to_its_end_too()
  with(nil, function(child)
    child:prompt([[
      local request = ask({ toolCallId = 'c1', title = 'Run', content = {
        { type = 'content', content = { type = 'text', text = ('echo é; '):rep(800) .. 'rm é' } } } })
    ]] .. OUTCOME)
    local row = 'Read on: not all of the preview is shown (lines: 1)'
    equal(child:menu(1).rows[1], row, 'nothing to allow')
    child:pick(1, row)
    child:type('l<CR>')
    equal(child:menu(2).rows[1], row, 'not read yet')
    child:pick(2, row)
    child:type('$<CR>')
    equal(child:menu(3).rows[1], 'Allow', 'read to the end')
    child:pick(3, 'Allow')
    child:wait_chat('outcome selected yes nil.')
  end)
end

function tests.the_built_in_menu_asks_too()
  with(nil, function(child)
    child:lua('vim.ui.select = _G.built_in_select')
    child:prompt(COMMAND .. OUTCOME)
    child:wait("return require('copydesk.ask').count() == 1", 'the ask')
    child:type('<CR>')
    child:wait("return table.concat(_G.told):find('still waits for an answer') ~= nil", 'the dismissal')
    child:request('nvim_input', ':CopydeskAnswer<CR>')
    child:type('1<CR>')
    child:wait_chat('outcome selected yes nil.')
  end)
end

function tests.an_ask_without_content_shows_its_arguments()
  with(nil, function(child)
    child:prompt("local request = ask({ toolCallId = 'c1', rawInput = { command = 'a\\nb' } })" .. OUTCOME)
    child:menu(1)
    equal(child:preview(), 'a\nb', 'the command')
    child:pick(1, 'Reject')
    child:wait_chat('outcome selected no nil.')
  end)
end

function tests.an_ask_takes_no_key_in_insert_mode()
  with({ files = { ['a.txt'] = '' } }, function(child)
    child:command('edit a.txt')
    child:type('iabc')
    child:prompt(COMMAND .. OUTCOME)
    child:wait("return require('copydesk.ask').count() == 1", 'the ask')
    contains(child:told(), 'comes up in Normal mode', 'what is told')
    child:type('def<CR>1')
    equal(
      { child:lines(), child:lua('return #_G.menus'), child:mode() },
      { { 'abcdef', '1' }, 0, 'i' },
      'typing goes on'
    )
    child:type('<Esc>')
    child:pick(1, 'Allow')
    child:wait_chat('outcome selected yes nil.')
    equal(child:lines(), { 'abcdef', '1' }, 'the text')
  end)
end

function tests.an_ask_waits_for_a_pending_operator_and_can_be_called_in_insert_mode()
  with({ files = { ['a.txt'] = 'one\ntwo\n' } }, function(child)
    child:command('edit a.txt')
    child:type('d')
    child:prompt(COMMAND .. OUTCOME)
    child:wait("return require('copydesk.ask').count() == 1", 'the ask')
    equal(child:lua('return #_G.menus'), 0, 'no menu')
    child:type('d')
    child:menu(1)
    equal(child:lines(), { 'two' }, 'the operator')
    child:pick(1, nil)
    child:type('i')
    child:command('CopydeskAnswer')
    child:pick(2, 'Allow')
    child:wait_chat('outcome selected yes nil.')
  end)
end

function tests.an_ask_whose_menu_fails_is_no_consent_and_still_waits()
  ---@param name 'select'|'input'
  ---@param begin fun(child: Child)
  local function check(name, begin)
    with(nil, function(child)
      child:lua(
        [[
        local name = ...
        local original = vim.ui[name]
        vim.ui[name] = function()
          vim.ui[name] = original
          error('E565: not now')
        end
      ]],
        name
      )
      child:prompt(COMMAND .. OUTCOME)
      begin(child)
      child:wait('return #_G.told > 0', 'what is told')
      contains(child:told(), 'the menu failed: ', 'the reason')
      contains(child:told(), 'E565: not now', 'the reason')
      contains(child:told(), 'still waits for an answer: :CopydeskAnswer', 'the way on')
      local menus = child:lua('return #_G.menus')
      child:command('CopydeskAnswer')
      child:pick(menus + 1, 'Allow')
      child:wait_chat('outcome selected yes nil.')
    end)
  end
  check('select', function() end)
  check('input', function(child)
    child:pick(1, 'Reject, and say what to do instead')
  end)
end

function tests.an_ask_comes_up_in_a_terminal_that_is_left_for_normal_mode()
  with(nil, function(child)
    child:command('terminal cat')
    child:command('startinsert')
    child:wait("return vim.api.nvim_get_mode().mode == 't'", 'the terminal')
    child:prompt(COMMAND .. OUTCOME)
    child:wait("return require('copydesk.ask').count() == 1", 'the ask')
    equal(child:lua('return #_G.menus'), 0, 'no menu while it takes keys')
    child:type('<C-\\><C-n>')
    child:pick(1, 'Allow')
    child:wait_chat('outcome selected yes nil.')
  end)
end

function tests.an_ask_is_withdrawn_with_its_call()
  with(nil, function(child)
    child:prompt([[
      local request = ask({ toolCallId = 'c1', title = 'Late' })
      update({ sessionUpdate = 'tool_call_update', toolCallId = 'c1', status = 'failed' })
    ]] .. OUTCOME)
    child:wait_chat('outcome cancelled nil nil.')
    equal({ child:preview(), child:lua("return require('copydesk.ask').count()") }, { nil, 0 }, 'nothing is left')
  end)
end

return tests
