-- The conversation, the prompt window, the life of the daemon.

local harness = require('harness')
local equal, contains, with = harness.equal, harness.contains, harness.with

local tests = {}

function tests.nothing_runs_before_the_first_command()
  with(nil, function(child)
    equal(
      child:lua([[
      local loaded = {}
      for name in pairs(package.loaded) do
        if vim.startswith(name, 'copydesk.') and name ~= 'copydesk.config' then loaded[#loaded + 1] = name end
      end
      return { loaded, #vim.lsp.get_clients(), vim.fn.exists(':Copydesk'), vim.fn.exists(':CopydeskAnswer') }
    ]]),
      { {}, 0, 2, 2 },
      'modules, clients and commands'
    )
  end)
end

function tests.streamed_text_tool_calls_diffs_and_plan_are_shown()
  with(nil, function(child)
    child:prompt([[
      update({ sessionUpdate = 'agent_thought_chunk', content = { type = 'text', text = 'hm\nwell' } })
      for _, word in ipairs({ 'Hello ', 'wor', 'ld\n', 'again' }) do say(word, 'm1') end
      update({ sessionUpdate = 'tool_call', toolCallId = 'c1', title = 'Edit a.txt', kind = 'edit', status = 'pending' })
      update({ sessionUpdate = 'tool_call', toolCallId = 'c2', title = 'ls', kind = 'execute', status = 'in_progress' })
      update({ sessionUpdate = 'tool_call_update', toolCallId = 'c1', status = 'completed',
        content = { { type = 'diff', path = '/x/a.txt', oldText = 'one\ntwo\n', newText = 'one\n2\n' } } })
      update({ sessionUpdate = 'tool_call_update', toolCallId = 'c2', status = 'failed',
        content = { { type = 'content', content = { type = 'text', text = 'a ``` fence\nb' } } } })
      update({ sessionUpdate = 'plan', entries = { { content = 'first', priority = 'high', status = 'pending' } } })
      update({ sessionUpdate = 'plan', entries = { { content = 'first', priority = 'high', status = 'completed' },
        { content = 'second', priority = 'high', status = 'in_progress' } } })
      say('Done.', 'm2')
      finish('max_tokens')
    ]])
    child:wait_chat('limit of output')
    local shown = child:chat():gsub('^# You.-# Copydesk', '# Copydesk')
    equal(
      shown,
      table.concat({
        '# Copydesk',
        '',
        '> Thinking',
        '> hm',
        '> well',
        '',
        'Hello world',
        'again',
        '',
        '[x] Edit a.txt',
        '```diff',
        '--- /x/a.txt',
        '+++ /x/a.txt',
        '@@ -1,2 +1,2 @@',
        ' one',
        '-two',
        '+2',
        '```',
        '[!] ls',
        '````text',
        'a ``` fence',
        'b',
        '````',
        '',
        'Plan',
        '- [x] first',
        '- [~] second',
        '',
        'Done.',
        '',
        "> ended: the model's limit of output was reached",
      }, '\n'),
      'the conversation'
    )
    equal(
      child:lua([[
      local window = require('copydesk.chat').window()
      local buffer = vim.api.nvim_win_get_buf(window)
      return vim.api.nvim_win_call(window, function()
        local fence, diff = vim.fn.search('^````text'), vim.fn.search('^```diff')
        return {
          vim.fn.foldtextresult(fence), vim.fn.foldtextresult(vim.fn.search('^> Thinking')), vim.fn.foldclosed(diff), vim.bo[buffer].modifiable, vim.bo[buffer].filetype,
          vim.treesitter.highlighter.active[buffer] ~= nil,
        }
      end)
    ]]),
      { '    + 2 lines of output', '> Thinking (2 lines)', -1, false, 'copydesk', true },
      'output is folded, diffs are not'
    )
  end)
end

function tests.r21_1_the_end_of_what_a_running_command_has_given_is_shown_unfolded()
  with(nil, function(child)
    child:prompt([[
      update({ sessionUpdate = 'tool_call', toolCallId = 'c1', title = 'make', kind = 'execute', status = 'pending' })
      local text = ''
      for line = 1, 12 do
        text = text .. 'line ' .. line .. '\n'
        update({ sessionUpdate = 'tool_call_update', toolCallId = 'c1', status = 'in_progress',
          content = { { type = 'content', content = { type = 'text', text = text } } } })
      end
    ]])
    child:wait_chat('line 12')
    local shown = child:chat()
    contains(shown, '[~] make\n```text\nline 3\nline 4\n', 'the last ten lines')
    local folded = [[
      local window = require('copydesk.chat').window()
      return vim.api.nvim_win_call(window, function() return vim.fn.foldclosed(vim.fn.search('^```text')) end)
    ]]
    equal(child:lua(folded), -1, 'unfolded')
    child:lua([[require('copydesk.session').update({ sessionId = require('copydesk.session').id(), update = {
      sessionUpdate = 'tool_call_update', toolCallId = 'c1', status = 'completed',
      content = { { type = 'content', content = { type = 'text', text = 'all of it' } } } } })]])
    child:wait_chat('all of it')
    equal(child:chat():find('line 12', 1, true), nil, 'the result stands in its place')
    equal(child:lua(folded) > 0, true, 'folded')
  end)
end

function tests.a_conversation_in_a_tab_has_one_tab()
  with({ setup = { layout = { position = 'tab' } }, files = { ['a.txt'] = 'one\n' } }, function(child)
    local function tabs()
      return child:lua("return { vim.fn.tabpagenr(), vim.fn.tabpagenr('$') }")
    end
    child:command('edit a.txt')
    for round = 1, 2 do
      child:prompt(("say('answer %d') finish()"):format(round))
      child:wait_chat('answer ' .. round)
      equal(tabs(), { 1, 2 }, 'beside, after prompt ' .. round)
    end
    child:command('CopydeskChat')
    equal(tabs(), { 2, 2 }, 'shown')
    child:command('CopydeskChat')
    equal(tabs(), { 1, 1 }, 'hidden')
    child:command('Copydesk')
    child:wait("return vim.api.nvim_get_mode().mode == 'i'", 'the prompt window')
    equal(tabs(), { 2, 2 }, 'the prompt is written beside the conversation')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
  end)
end

function tests.names_that_are_taken_are_no_obstacle()
  with(nil, function(child)
    child:command('edit copydesk://chat')
    child:lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'of a session file' })")
    child:command('enew! | badd copydesk://prompt')
    child:prompt("say('here') finish()")
    child:wait_chat('here')
    equal(child:chat(), '# You\n\n# Copydesk\n\nhere', 'the conversation')
    child:command('Copydesk')
    child:wait("return vim.api.nvim_get_mode().mode == 'i'", 'the prompt window')
    equal(child:lua('return { vim.fn.bufname(), vim.bo.buftype }'), { 'copydesk://prompt', 'nofile' }, 'its buffer')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
  end)
end

function tests.the_conversation_keeps_its_size_when_other_windows_come_and_go()
  for _, case in ipairs({ { 'right', 'width', 40 }, { 'left', 'width', 40 }, { 'bottom', 'height', 10 } }) do
    local setup = { layout = { position = case[1], size = case[3], prompt_height = 0 } }
    with({ setup = setup, files = { ['a.txt'] = 'one\n' } }, function(child)
      child:command('edit a.txt')
      child:command('Copydesk')
      child:wait("return vim.api.nvim_get_mode().mode == 'i'", 'the prompt window')
      child:type("say('here') finish()<C-s>")
      child:wait_chat('here')
      child:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('a.txt'))")
      child:command('vsplit | split')
      equal(
        child:lua(("return vim.api.nvim_win_get_%s(require('copydesk.chat').window())"):format(case[2])),
        case[3],
        case[1]
      )
    end)
  end
end

function tests.the_cursor_follows_the_end_only_where_it_stands_there_and_the_focus_stays()
  with({ files = { ['a.txt'] = 'one\n' } }, function(child)
    child:command('edit a.txt')
    child:prompt("say(('line\\n'):rep(50)) finish()")
    child:wait_chat('line')
    local function cursor()
      return child:lua([[
        local window = require('copydesk.chat').window()
        local cursor = vim.api.nvim_win_get_cursor(window)[1]
        local buffer = vim.api.nvim_win_get_buf(window)
        return { cursor, vim.api.nvim_buf_line_count(buffer), vim.fn.bufname() }
      ]])
    end
    local place = harness.wait(function()
      local place = cursor()
      return place[2] > 50 and place
    end, 'the lines')
    equal({ place[1] == place[2], place[3] }, { true, 'a.txt' }, 'the end is followed without the focus')
    child:lua("vim.api.nvim_win_set_cursor(require('copydesk.chat').window(), { 5, 0 })")
    child:prompt("say('news') finish()")
    child:wait_chat('news')
    equal(cursor()[1], 5, 'a reader is left alone')
  end)
end

function tests.deltas_of_one_tick_are_written_at_once()
  with(nil, function(child)
    child:prompt('finish()')
    child:wait_chat('# You')
    local writes = child:lua([[
      local chat = require('copydesk.chat')
      local writes, buffer = 0, vim.fn.bufnr('copydesk://chat')
      vim.api.nvim_buf_attach(buffer, false, { on_lines = function() writes = writes + 1 end })
      for index = 1, 500 do
        chat.append('text', { type = 'text', text = index .. ' ' .. (index % 50 == 0 and '\n' or '') }, 'm')
      end
      vim.wait(1000, function() return writes > 0 end)
      return writes
    ]])
    contains(child:chat(), '499 500 ', 'the text')
    assert(writes <= 4, ('500 deltas, %d writes'):format(writes))
  end)
end

function tests.the_prompt_window_sends_and_remembers()
  with({ setup = { layout = { prompt = 'float' } } }, function(child)
    child:command('Copydesk')
    child:type("say('first<CR>answer') finish()<Esc>")
    child:type('k')
    equal(child:lines(), { "say('first", "answer') finish()" }, 'Enter begins a line in Insert mode')
    child:type('ggJ<CR>')
    child:wait_chat('\nfirst answer')
    equal(child:lua('return vim.fn.bufname()'), '', 'the window is closed')
    child:command('Copydesk')
    child:type("say('second') finish()<C-s>")
    child:wait_chat('\nsecond')
    child:command('Copydesk')
    child:type('draft<Esc><C-p><C-p>')
    equal(child:lines(), { "say('first answer') finish()" }, 'the older prompt')
    child:type('<C-n><C-n>')
    equal(child:lines(), { 'draft' }, 'the draft')
    child:type('q')
    equal(child:lua('return vim.fn.bufname()'), '', 'q closes')
  end)
end

function tests.r15_1_a_range_is_shown_before_it_is_sent_with_the_unsaved_text()
  with({ files = { ['a.lua'] = 'one\ntwo\nthree\n' } }, function(child)
    child:command('edit a.lua')
    child:type('jccTWO<Esc>')
    child:command('2,3Copydesk')
    local shown = child:lua([[
      local namespace = vim.api.nvim_get_namespaces()['copydesk.prompt']
      local mark = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })[1]
      return vim.tbl_map(function(line) return line[1][1] end, mark[4].virt_lines)
    ]])
    equal(shown, { 'with a.lua:2-3', '  TWO', '  three' }, 'shown below the prompt')
    child:type('say(vim.inspect(received[#received].params.prompt[2])) finish()<C-s>')
    child:wait_chat('text = "TWO\\nthree"')
    contains(child:chat(), 'a.lua#L2-L3"', 'where it is from')
    contains(child:chat(), '[x] with a.lua:2-3', 'what is remembered')
    child:command('Copydesk')
    equal(
      child:lua(
        [[return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['copydesk.prompt'], 0, -1, {})]]
      ),
      0,
      'sent once'
    )
  end)
end

function tests.buffers_are_told_with_language_and_unsaved_text()
  with({ files = { ['a.sh'] = 'echo 1\n', ['b.lua'] = 'return 1\n' } }, function(child)
    child:command('edit a.sh')
    child:type('Aé<Esc>')
    child:prompt("say('ready') finish()")
    child:wait_chat('ready')
    child:command('edit b.lua')
    child:type('A + 1<Esc>')
    child:prompt([[
      wait(function() return vim.tbl_count(documents) == 2 end)
      wait(function() for uri, document in pairs(documents) do
        if uri:match('b.lua$') and document.text == 'return 1 + 1\n' then return true end end end)
      for uri, document in pairs(documents) do say(uri:match('[^/]+$') .. ' is ' .. document.language .. ': ' .. document.text) end
      finish()
    ]])
    child:wait_chat('a.sh is shellscript: echo 1é')
    child:wait_chat('b.lua is lua: return 1 + 1')
  end)
end

function tests.modes_and_models_are_chosen()
  with(nil, function(child)
    child:command('CopydeskMode')
    equal(child:menu(1).rows, { '* Build', '  Plan' }, 'the modes')
    child:pick(1, '  Plan')
    child:wait("return require('copydesk.choices').chosen('mode') == 'plan'", 'the mode')
    equal(child:lua("return vim.fn.getcompletion('CopydeskModel a/t', 'cmdline')"), { 'a/two' }, 'completion')
    child:command('CopydeskModel a/two')
    child:wait("return require('copydesk.choices').chosen('model') == 'a/two'", 'the model')
    contains(child:lua("return require('copydesk').statusline()"), 'plan  a/two', 'the status line')
  end)
end

function tests.r9_3_the_permission_mode_is_chosen()
  with(nil, function(child)
    child:command('CopydeskPermissionMode')
    local menu = child:menu(1)
    equal(menu.prompt, 'Copydesk permission mode', 'the question')
    equal(menu.rows, { '* Ask', '  Workspace' }, 'the modes')
    child:pick(1, '  Workspace')
    child:wait("return require('copydesk.choices').chosen('permission') == 'workspace'", 'the mode')
    equal(child:lua("return require('copydesk.choices').chosen('model')"), 'a/one', 'the model stays')
    child:command('CopydeskPermissionMode ask')
    child:wait("return require('copydesk.choices').chosen('permission') == 'ask'", 'the mode')
  end)
end

function tests.r9_1_what_was_allowed_is_listed_and_taken_back()
  with(nil, function(child)
    child:command('CopydeskPermissions')
    local menu = child:menu(1)
    equal(menu.rows, {
      'in this session: bash "make" (agent build)',
      'in this project: edit "a.txt" (agent build)',
    }, 'what is allowed')
    child:pick(1, menu.rows[2])
    equal(child:menu(2).prompt, 'Allowed in this project: edit "a.txt" (agent build)', 'the question')
    child:pick(2, 'Keep it')
    child:command('CopydeskPermissions')
    equal(#child:menu(3).rows, 2, 'it was kept')
    child:pick(3, menu.rows[2])
    child:pick(4, 'Take it back')
    child:wait("return table.concat(_G.told, ' '):find('taken back: edit', 1, true) ~= nil", 'the news')
    child:command('CopydeskPermissions')
    equal(child:menu(5).rows, { menu.rows[1] }, 'one is left')
  end)
end

function tests.r2_3_a_cancel_ends_the_turn_and_answers_its_asks()
  with(nil, function(child)
    child:prompt([[
      local request = ask({ toolCallId = 'c1', title = 'rm' })
      update({ sessionUpdate = 'tool_call', toolCallId = 'c2', title = 'Long', status = 'in_progress' })
      local result = await(request)
      wait(function() for _, message in ipairs(received) do if message.method == 'session/cancel' then return true end end end)
      say('outcome: ' .. result.outcome.outcome)
      finish('cancelled')
    ]])
    child:menu(1)
    child:command('CopydeskCancel')
    child:wait_chat('> stopped')
    contains(child:chat(), 'outcome: cancelled', 'the ask')
    contains(child:chat(), '[-] Long', 'a call that did not end')
    equal(child:preview(), nil, 'the preview is gone')
    child:lua('_G.pick(1, "Allow")')
    equal(child:lua("return require('copydesk.session').running()"), false, 'a late answer does nothing')
  end)
end

function tests.r2_3_a_prompt_that_is_cancelled_as_a_request_ends_its_turn()
  with(nil, function(child)
    child:prompt([[
      say('working')
      wait(function() for _, message in ipairs(received) do if message.method == '$/cancelRequest' then return true end end end)
      fail(-32800, 'cancelled')
    ]])
    child:wait_chat('working')
    child:lua([[
      local client = vim.lsp.get_clients({ name = 'copydesk' })[1]
      for id, request in pairs(client.requests) do
        if request.method == 'session/prompt' then client:cancel_request(id) end
      end
    ]])
    child:wait_chat('> stopped')
    equal(child:lua("return require('copydesk.session').running()"), false, 'no turn runs')
  end)
end

function tests.notices_are_shown()
  with(nil, function(child)
    child:prompt([[
      update({ sessionUpdate = 'notice', severity = 'warning', title = 'Slow', description = 'the provider waits' })
      notify('window/showMessage', { type = 1, message = 'No model is set' })
      finish()
    ]])
    child:wait_chat('> **Error:** No model is set')
    contains(child:chat(), '> **Note:** Slow: the provider waits', 'the notice')
    contains(child:told(), 'Copydesk: No model is set', 'what is told')
  end)
end

--- What stands below the last line of the conversation, and in the status line.
---@param child Child
---@return string below
---@return string status
local function waiting(child)
  local found = child:lua([[
    local buffer = vim.fn.bufnr('copydesk://chat')
    local namespace = vim.api.nvim_get_namespaces()['copydesk.countdown']
    local below = {}
    for _, mark in ipairs(namespace and vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, { details = true }) or {}) do
      assert(mark[2] == vim.api.nvim_buf_line_count(buffer) - 1, 'below the last line')
      below[#below + 1] = mark[4].virt_lines[1][1][1]
    end
    return { table.concat(below, '|'), require('copydesk').statusline() }
  ]])
  return found[1], found[2]
end

---@param child Child
---@param text string
local function wait_below(child, text)
  harness.wait(function()
    return (waiting(child)) == text
  end, ('%q below the conversation, where %q stands'):format(text, (waiting(child))))
end

--- A story that tells of a wait and goes on when the test says so.
---@param millis integer
---@param rest string
---@return string
local function story(millis, rest)
  return ([[
    update({ sessionUpdate = 'session_info_update', _meta = { copydesk = { retry =
      { attempt = 2, of = 5, waitMillis = %d, reason = 'busy.' } } } })
    notify('window/showMessage', { type = 2, message = 'busy.' })
    local function has(method)
      return function()
        for _, message in ipairs(received) do
          if message.method == method then return true end
        end
      end
    end
    %s
  ]]):format(millis, rest)
end

function tests.c83_a_wait_ticks_down_until_the_model_answers_again()
  with(nil, function(child)
    child:prompt(story(61800, "wait(has('test/go')) say('back') wait(has('test/end')) finish()"))
    child:wait_chat('busy.')
    for _, left in ipairs({ 62, 61, 60 }) do
      local text = ('trying again in %d s (2 of 5)'):format(left)
      wait_below(child, text)
      local _, status = waiting(child)
      contains(status, 'trying again in ', 'the status line')
    end
    child:lua("require('copydesk.client').notify('test/go', {})")
    child:wait_chat('back')
    local below, status = waiting(child)
    equal(below, '', 'nothing is waited for')
    contains(status, 'working', 'the status line')
    child:lua("require('copydesk.client').notify('test/end', {})")
  end)
end

function tests.c83_a_wait_is_over_with_its_time_its_turn_and_its_cancel()
  with(nil, function(child)
    -- Its time.
    child:prompt(story(1300, "wait(has('test/go')) finish()"))
    wait_below(child, 'trying again in 2 s (2 of 5)')
    wait_below(child, 'trying again in 1 s (2 of 5)')
    wait_below(child, '')
    local _, status = waiting(child)
    contains(status, 'working', 'the status line')
    child:lua("require('copydesk.client').notify('test/go', {})")
    -- The end of its turn.
    child:prompt(story(600000, "wait(has('test/fail')) fail(-32603, 'It stays out of order.')"))
    wait_below(child, 'trying again in 600 s (2 of 5)')
    child:lua("require('copydesk.client').notify('test/fail', {})")
    child:wait_chat('It stays out of order.')
    equal(waiting(child), '', 'below the conversation')
    -- A cancel, before the daemon has answered it.
    child:prompt(story(600000, "wait(has('session/cancel')) wait(has('test/late')) finish('cancelled')"))
    wait_below(child, 'trying again in 600 s (2 of 5)')
    child:lua("require('copydesk').cancel()")
    equal(waiting(child), '', 'below the conversation')
    child:lua("require('copydesk.client').notify('test/late', {})")
    child:wait_chat('> stopped')
    -- Another conversation.
    child:prompt(story(600000, 'wait(function() end)'))
    wait_below(child, 'trying again in 600 s (2 of 5)')
    child:lua("require('copydesk.session').reset()")
    equal(waiting(child), '', 'below the conversation')
  end)
end

function tests.a_failed_turn_says_why()
  with(nil, function(child)
    child:prompt("fail(-32603, 'The provider refuses the key.')")
    child:wait_chat('> **Error:** The provider refuses the key.')
  end)
end

function tests.r12_4_a_crash_interrupts_the_turn_and_the_daemon_comes_back()
  with({ setup = { restart = { attempts = 2, delay = 10 } } }, function(child)
    child:prompt([[
      update({ sessionUpdate = 'tool_call', toolCallId = 'c1', title = 'Long', status = 'in_progress' })
      ask({ toolCallId = 'c2', title = 'x' })
      die(3)
    ]])
    child:wait_chat('interrupted: the daemon ended with exit code 3')
    contains(child:chat(), '[-] Long', 'the call')
    equal(
      child:lua("return { require('copydesk.session').running(), require('copydesk.ask').count() }"),
      { false, 0 },
      'nothing waits'
    )
    child:wait("return require('copydesk.client').status() == 'ready'", 'the second daemon')
    contains(child:told(), 'started again (1 of 2)', 'what is told')
    child:prompt("say('back again in ' .. session) finish()")
    child:wait_chat('back again in s1')
  end)
end

function tests.a_daemon_that_never_stays_up_is_given_up_and_can_be_tried_again()
  with({ setup = { restart = { attempts = 2, delay = 1 } }, env = { FAKE_START = 'os.exit(7)' } }, function(child)
    child:prompt('finish()')
    child:wait_chat('exit code 7, 3 times')
    equal(child:lua("return require('copydesk.client').status()"), 'failed', 'the status')
    child:lua("vim.env.FAKE_START = nil; require('copydesk').restart()")
    child:wait("return require('copydesk.client').status() == 'ready'", 'the daemon')
  end)
end

function tests.a_daemon_that_does_not_fit_is_said_not_waited_for()
  ---@param offer string
  ---@param expected string
  local function check(offer, expected)
    with({ env = { FAKE_OFFER = offer } }, function(child)
      child:prompt('finish()')
      child:wait_chat(expected)
      contains(child:told(), expected, 'what is told')
      child:wait('return #vim.lsp.get_clients() == 0', 'the end of the daemon')
    end)
  end
  check('{"protocol":2,"agentInfo":{},"agentCapabilities":{},"methods":[]}', 'speaks version 2 of the protocol')
  check('null', 'not a Copydesk daemon')
  with({ cmd = { 'no-such-program' } }, function(child)
    child:prompt('finish()')
    child:wait_chat('`no-such-program` was not found')
  end)
  with({ env = { FAKE_START = 'vim.wait(60000)' }, setup = { start_timeout = 200 } }, function(child)
    child:prompt('finish()')
    child:wait_chat('did not answer within 0.2 s')
  end)
end

function tests.a_new_conversation_is_another_session()
  with(nil, function(child)
    child:prompt('say(session) finish()')
    child:wait_chat('s1')
    child:command('CopydeskNew')
    equal(child:chat(), '', 'the conversation')
    child:prompt('say(session) finish()')
    child:wait_chat('s2')
  end)
end

--- A story that has stored conversations: `old` can be opened, `other` is open elsewhere, `broken` cannot be read.
local STORED = [[
  _G.asked = {}
  answers['session/list'] = function(params, reply)
    if params.cursor then
      return reply({ sessions = { { sessionId = 'broken', cwd = params.cwd } } })
    end
    reply({ nextCursor = 'more', sessions = {
      { sessionId = 's1', title = 'now', updatedAt = '2026-11-30T14:32:53.5Z', cwd = params.cwd },
      { sessionId = 'old', title = 'the\nold one', updatedAt = '2026-07-01T23:00:00Z', cwd = params.cwd },
      { sessionId = 'other', title = 'elsewhere', updatedAt = '2026-07-01T22:59:00Z', cwd = params.cwd },
    } })
  end
  answers['session/load'] = function(params, reply)
    if params.sessionId == 'broken' then return reply(nil, { code = -32603, message = 'it is damaged' }) end
    local function show(update) notify('session/update', { sessionId = params.sessionId, update = update }) end
    show({ sessionUpdate = 'user_message_chunk', messageId = 'm1', content = { type = 'text', text = 'said ' } })
    show({ sessionUpdate = 'user_message_chunk', messageId = 'm1', content = { type = 'text', text = 'before' } })
    show({ sessionUpdate = 'tool_call', toolCallId = 'c1', title = 'Edit', kind = 'edit', status = 'pending' })
    show({ sessionUpdate = 'agent_message_chunk', messageId = 'm2', content = { type = 'text', text = 'answered' } })
    local meta = params.sessionId == 'other' and { copydesk = { readOnly = true } } or nil
    reply({ _meta = meta, modes = { currentModeId = 'plan', availableModes = { { id = 'plan', name = 'Plan' } } } })
  end
  answers['session/resume'] = function(params, reply)
    table.insert(_G.asked, params)
    reply({ modes = { currentModeId = 'build', availableModes = { { id = 'build', name = 'Build' } } } })
  end
  answers['_copydesk/changes'] = function(params, reply)
    notify('window/logMessage', { type = 4, message = 'changes of ' .. params.sessionId })
    reply({ files = {}, added = 0, removed = 0 })
  end
]]

function tests.r12_3_stored_conversations_are_listed_shown_and_gone_on_with()
  with({ env = { TZ = 'XXX-2' } }, function(child)
    child:prompt(STORED .. "say('here') finish()")
    child:wait_chat('here')
    child:command('CopydeskSessions')
    equal(child:menu(1).rows, {
      '* 2026-11-30 16:32  now',
      '  2026-07-02 01:00  the old one',
      '  2026-07-02 00:59  elsewhere',
      'Older ones …',
    }, 'the list')
    child:pick(1, '  2026-07-02 01:00  the old one')
    child:wait("return require('copydesk.session').id() == 'old'", 'the conversation')
    child:wait_chat('answered')
    equal(child:chat(), '# You\n\nsaid before\n\n# Copydesk\n\n[-] Edit\n\nanswered', 'what is shown')
    equal(child:lua("return require('copydesk.choices').chosen('mode')"), 'plan', 'its mode')
    contains(
      harness.read(child:lua("return require('copydesk.log').path()")),
      'changes of old',
      'its changes are asked for'
    )
    child:prompt('say(session) finish()')
    child:wait_chat('\n\nold')
    child:command('CopydeskSessions')
    child:pick(2, 'Older ones …')
    child:pick(3, '    broken')
    child:wait_chat('**Error:** the conversation could not be opened: it is damaged')
    child:prompt("say(session .. '!') finish()")
    child:wait_chat('s2!')
  end)
end

function tests.c94_a_conversation_that_another_editor_has_open_can_be_read_or_taken_over()
  with(nil, function(child)
    child:prompt(STORED .. "say('here') finish()")
    child:wait_chat('here')
    for round, answer in ipairs({ 'Read it only', 'Take it over' }) do
      child:command('CopydeskNew')
      child:command('CopydeskSessions')
      local menus = 2 * round - 1
      child:pick(menus, child:menu(menus).rows[3])
      local menu = child:menu(menus + 1)
      equal(menu.rows, { 'Take it over', 'Read it only' }, 'the question')
      child:wait_chat('answered')
      child:pick(menus + 1, answer)
      local mode = round == 1 and 'plan' or 'build'
      child:wait("return require('copydesk.choices').chosen('mode') == ...", 'its mode', mode)
    end
    child:prompt("say(#_G.asked .. ' ' .. tostring(_G.asked[1]._meta.copydesk.takeOver)) finish()")
    child:wait_chat('1 true')
  end)
end

function tests.c94_a_conversation_is_taken_over_by_a_menu_that_answers_at_once_and_opened_where_the_menu_fails()
  ---@param menu string
  ---@param failed fun(child: Child)
  ---@param expected string
  local function check(menu, failed, expected)
    with(nil, function(child)
      child:prompt(STORED .. "say('here') finish()")
      child:wait_chat('here')
      child:lua(([[
        local select = vim.ui.select
        vim.ui.select = function(items, opts, done)
          if opts.kind ~= 'copydesk_take_over' then return select(items, opts, done) end
          %s
        end
      ]]):format(menu))
      child:command('CopydeskSessions')
      child:pick(1, child:menu(1).rows[3])
      failed(child)
      child:wait_chat('answered')
      child:prompt("say(#_G.asked .. ' in ' .. session) finish()")
      child:wait_chat(expected)
    end)
  end
  check('done(items[1])', function() end, '1 in other')
  check("error('E565: not now')", function(child)
    -- Neovim shows the error, and waits for a key.
    harness.wait(function()
      return child:request('nvim_get_mode').blocking
    end, 'the error')
    child:type('<CR>')
  end, '0 in other')
end

function tests.commands_of_the_daemon_are_completed_at_the_beginning_of_a_prompt()
  with(nil, function(child)
    child:prompt([[
      update({ sessionUpdate = 'available_commands_update', availableCommands = {
        { name = 'undo', description = 'Take back' }, { name = 'redo', description = 'Do again' } } })
      say('here')
      finish()
    ]])
    child:wait_chat('here')
    child:command('Copydesk')
    child:wait("return vim.api.nvim_get_mode().mode == 'i'", 'Insert mode')
    child:type('/u<C-x><C-o>')
    child:wait("return vim.api.nvim_get_current_line() == '/undo'", 'the completion')
    child:type(' x/u<C-x><C-o>')
    child:lua("vim.cmd('silent! sleep 50m')")
    equal(child:lines(), { '/undo x/u' }, 'nothing elsewhere')
  end)
end

--- Calls what a story has put by, outside of the story.
---@param child Child
---@param name string
local function release(child, name)
  child:lua("require('copydesk.client').notify('fake/run', { code = ... })", ('_G.%s()'):format(name))
end

function tests.a_conversation_that_is_left_while_it_is_taken_up_again_stays_left()
  local offer = harness.offer({ agentCapabilities = { sessionCapabilities = { resume = vim.empty_dict() } } })
  local setup = { restart = { attempts = 1, delay = 10 } }
  with({ env = { FAKE_OFFER = offer }, setup = setup }, function(child)
    -- The next daemon counts from `s1` again.
    child:prompt("say('here') finish()")
    child:wait_chat('here')
    child:command('CopydeskNew')
    child:prompt("say('in ' .. session) finish()")
    child:wait_chat('in s2')
    child:lua(
      'vim.env.FAKE_START = ...',
      [[
      answers['session/resume'] = function(params, reply)
        _G.resume = function()
          local update = { sessionUpdate = 'agent_message_chunk', content = { type = 'text', text = 'OF ' .. params.sessionId } }
          notify('session/update', { sessionId = params.sessionId, update = update })
          reply({})
        end
      end
    ]]
    )
    child:prompt('die(7)')
    child:wait_chat('interrupted')
    child:wait("return require('copydesk.client').status() == 'ready'", 'the next daemon')
    child:prompt("say('lost') finish()")
    child:command('CopydeskNew')
    release(child, 'resume')
    child:prompt("say('new ' .. session) finish()")
    child:wait_chat('new s1')
    equal(child:chat(), '# You\n\n# Copydesk\n\nnew s1', 'nothing of the one that was left')
  end)
end

function tests.what_the_daemon_says_before_a_conversation_is_taken_up_again_is_shown()
  local offer = harness.offer({ agentCapabilities = { sessionCapabilities = { resume = vim.empty_dict() } } })
  local setup = { restart = { attempts = 1, delay = 10 } }
  for _, answer in ipairs({ 'reply({})', "reply(nil, { code = -32603, message = 'damaged' })" }) do
    with({ env = { FAKE_OFFER = offer }, setup = setup }, function(child)
      child:prompt("say('here') finish()")
      child:wait_chat('here')
      child:lua(
        'vim.env.FAKE_START = ...',
        ([[
        local function update(session, update)
          notify('session/update', { sessionId = session, update = update })
        end
        answers['session/new'] = function(_, reply)
          update('s1', { sessionUpdate = 'notice', severity = 'warning', title = 'TOO LATE' })
          reply({ sessionId = 's9' })
        end
        answers['session/resume'] = function(params, reply)
          local commands = { { name = 'now', description = 'Of this daemon' } }
          update(params.sessionId, { sessionUpdate = 'notice', severity = 'warning', title = 'a rule is broken' })
          update(params.sessionId, { sessionUpdate = 'available_commands_update', availableCommands = commands })
          %s
        end
      ]]):format(answer)
      )
      child:prompt('die(7)')
      child:wait_chat('interrupted')
      child:wait("return require('copydesk.client').status() == 'ready'", 'the next daemon')
      child:prompt("say('again in ' .. session) finish()")
      child:wait_chat(answer == 'reply({})' and 'again in s1' or 'again in s9')
      contains(child:chat(), 'a rule is broken', 'the warning')
      equal(child:chat():find('TOO LATE', 1, true), nil, 'of the one that is given up')
      equal(child:lua("return require('copydesk.session').commands()[1].name"), 'now', 'the commands')
    end)
  end
end

--- `STORED` with an answer of `session/load` that waits for `_G.succeed` or `_G.fail`, and with undo and diff, which say where they are done.
local HELD = STORED
  .. [[
  local show_stored = answers['session/load']
  answers['session/load'] = function(params, reply)
    _G.succeed = function() show_stored(params, reply) end
    _G.fail = function() reply(nil, { code = -32603, message = 'it is damaged' }) end
    notify('window/showMessage', { type = 3, message = 'loading' })
  end
  answers['_copydesk/undo'] = function(params, reply)
    reply({ title = 'x', files = {}, added = 0, removed = 0, text = 'undone in ' .. params.sessionId })
  end
  answers['_copydesk/diff'] = function(params, reply)
    reply(nil, { code = -32603, message = 'of ' .. params.sessionId })
  end
]]

--- Has the stored conversation `old` be opened, up to the answer of the daemon.
---@param child Child
local function begin_load(child)
  child:prompt(HELD .. "say('here') finish()")
  child:wait_chat('here')
  child:command('CopydeskSessions')
  child:pick(1, child:menu(1).rows[2])
  child:wait_chat('loading')
  child:lua('_G.told = {}')
end

function tests.a_stored_conversation_that_is_left_while_it_is_opened_stays_left()
  for _, answer in ipairs({ 'succeed', 'fail' }) do
    with(nil, function(child)
      begin_load(child)
      child:command('CopydeskNew')
      child:prompt("say('new ' .. session) finish()")
      release(child, answer)
      child:wait_chat('new s2')
      equal(child:chat(), '# You\n\n# Copydesk\n\nnew s2', 'nothing of the one that was left')
      equal(child:lua("return require('copydesk.choices').chosen('mode')"), 'build', 'the mode of the new one')
    end)
  end
end

function tests.a_daemon_that_is_stopped_is_not_started_for_those_who_wait()
  with(nil, function(child)
    begin_load(child)
    child:command('CopydeskNew')
    child:prompt("say('new ' .. session) finish()")
    child:lua("require('copydesk.client').stop()")
    child:wait_chat('**Error:** the daemon was stopped')
    equal(child:lua("return require('copydesk.client').status()"), 'stopped', 'the daemon')
  end)
end

function tests.undo_and_diff_wait_for_the_conversation_that_is_being_opened()
  ---@param answer 'succeed'|'fail'
  ---@param leave boolean
  ---@param expected string[]
  local function check(answer, leave, expected)
    with(nil, function(child)
      begin_load(child)
      child:command('CopydeskUndo')
      child:command('CopydeskDiff')
      if leave then
        child:command('CopydeskNew')
      end
      -- What would have been sent is answered before that.
      release(child, answer)
      child:wait('return #_G.told >= 2', 'the answers')
      equal(child:lua('return _G.told'), expected, answer)
      equal(
        child:lua("return require('copydesk.session').id()"),
        not leave and answer == 'succeed' and 'old' or vim.NIL,
        'the conversation'
      )
    end)
  end
  local done = { 'Copydesk: undone in old', 'Copydesk: no diff: of old' }
  check('succeed', false, done)
  check('succeed', true, done)
  check('fail', false, { 'Copydesk: it is damaged', 'Copydesk: it is damaged' })
  check('fail', true, { 'Copydesk: it is damaged', 'Copydesk: it is damaged' })
end

function tests.undo_waits_for_the_conversation_that_a_prompt_has_begun()
  with(nil, function(child)
    child:prompt(HELD .. [[
      answers['session/new'] = function(_, reply)
        answers['session/new'] = nil
        _G.create = function() reply({ sessionId = 'made' }) end
      end
      say('here') finish()
    ]])
    child:wait_chat('here')
    child:command('CopydeskNew')
    child:prompt("say('new ' .. session) finish()")
    child:command('CopydeskUndo')
    release(child, 'create')
    child:wait_chat('new made')
    child:wait('return #_G.told > 0', 'the undo')
    equal(child:told(), 'Copydesk: undone in made', 'where')
  end)
end

function tests.what_waits_for_a_conversation_that_is_left_before_the_daemon_runs_gets_no_other()
  with({ setup = { restart = { attempts = 1, delay = 10 } } }, function(child)
    local offer = harness.offer({ agentCapabilities = { sessionCapabilities = { resume = vim.empty_dict() } } })
    local undo = [[
      answers['session/resume'] = function(_, reply) reply({}) end
      answers['_copydesk/undo'] = function(params, reply)
        reply({ title = 'x', files = {}, added = 0, removed = 0, text = 'undone in ' .. params.sessionId })
      end
    ]]
    child:lua('vim.env.FAKE_OFFER, vim.env.FAKE_START = ...', offer, undo)
    --- Before anything of a daemon can come between.
    ---@param name string Of the second conversation.
    local function leave(name)
      local prompts = { "say('left') finish()", ("say('%s ' .. session) finish()"):format(name) }
      vim.list_extend(child.prompts, prompts)
      return ([[
        _G.told = {}
        local copydesk = require('copydesk')
        copydesk.prompt(%q)
        vim.cmd('CopydeskUndo')
        vim.cmd('CopydeskNew')
        copydesk.prompt(%q)
      ]]):format(unpack(prompts))
    end
    ---@param name string
    local function check(name)
      child:wait_chat(name .. ' s1')
      child:wait("return table.concat(_G.told):find('Copydesk: there is nothing to take back yet', 1, true)", name)
      equal(child:told():find('undone', 1, true), nil, name)
      equal(child:chat():find('left', 1, true), nil, name)
    end
    child:lua(leave('first'))
    check('first')
    child:lua([[
      vim.api.nvim_create_autocmd('User', { pattern = 'CopydeskStatus', callback = function()
        if require('copydesk.session').id() then return end
        vim.api.nvim_clear_autocmds({ event = 'User', pattern = 'CopydeskStatus' })
        _G.status = require('copydesk.client').status()
        ]] .. leave('second') .. [[
      end })
    ]])
    child:prompt('die(7)')
    check('second')
    equal(child:lua('return _G.status'), 'restarting', 'when it was left')
  end)
end

function tests.nothing_of_a_conversation_that_was_left_is_shown()
  with(nil, function(child)
    child:prompt(
      "ask({ toolCallId = 'c1', title = 'x' }) wait(function() for _, message in ipairs(received) do "
        .. "if message.method == 'session/cancel' then return true end end end) say('too late') finish('cancelled') notify('window/showMessage', { type = 3, message = 'over' })"
    )
    child:menu(1)
    child:command('CopydeskNew')
    child:wait_chat('over')
    equal(child:chat(), '> over', 'the conversation')
    equal(
      child:lua("return { require('copydesk').statusline(), require('copydesk.ask').count() }"),
      { 'Copydesk', 0 },
      'the status'
    )
  end)
end

function tests.the_conversation_is_shown_and_hidden_and_outlives_its_buffer()
  with(nil, function(child)
    child:prompt("say('kept') finish()")
    child:wait_chat('kept')
    child:command('CopydeskChat')
    equal(child:lua("return require('copydesk.chat').window() == nil"), true, 'hidden')
    child:lua("vim.api.nvim_buf_delete(vim.fn.bufnr('copydesk://chat'), { force = true })")
    child:command('CopydeskChat')
    child:wait_chat('kept')
    equal(child:lua('return vim.bo.filetype'), 'copydesk', 'the focus')
  end)
end

function tests.checkhealth_tells_what_is_wrong()
  with({ setup = { layout = { size = 'big' }, colour = 'red' } }, function(child)
    child:command('checkhealth copydesk')
    local report = table.concat(child:lines(), '\n')
    contains(report, '`layout.size` must be a number', 'a wrong option')
    contains(report, 'unknown option `colour`', 'an unknown option')
    contains(report, 'the daemon answers: fake 0, protocol 1', 'the hand-shake')
  end)
  with({ cmd = { 'no-such-program' } }, function(child)
    child:command('checkhealth copydesk')
    contains(table.concat(child:lines(), '\n'), '`no-such-program` was not found', 'a missing program')
  end)
end

function tests.a_wrong_workspace_folder_is_said_and_can_be_mended()
  with({ setup = { root = '/no/such/folder' } }, function(child)
    child:prompt("say('here') finish()")
    child:wait_chat('**Error:** the workspace folder /no/such/folder is not there. Check the option `root`.')
    child:lua([[
      local config = require('copydesk.config')
      config.set({ cmd = config.get().cmd, root = function() error('no folder today', 0) end })
    ]])
    child:prompt("say('here') finish()")
    child:wait_chat('**Error:** the option `root` of setup() failed: no folder today')
    child:lua("local config = require('copydesk.config') config.set({ cmd = config.get().cmd })")
    child:prompt("say('here') finish()")
    child:wait_chat('\n\nhere')
  end)
end

function tests.the_log_is_kept_small()
  with(nil, function(child)
    local path = child:lua("return require('copydesk.log').path()")
    harness.write(path, ('x'):rep(1024 * 1024 + 1))
    child:lua("require('copydesk.log').write('info', 'a new one')")
    contains(harness.read(path), ' info a new one', 'the log')
    equal(
      { vim.uv.fs_stat(path).size < 100, vim.uv.fs_stat(path .. '.1').size },
      { true, 1024 * 1024 + 1 },
      'the sizes'
    )
  end)
end

function tests.the_help_is_found()
  with(nil, function(child)
    for _, tag in ipairs({
      'copydesk',
      'copydesk-options',
      ':Copydesk',
      ':CopydeskAnswer',
      ':CopydeskUndo',
      'copydesk-review',
    }) do
      child:command('help ' .. tag)
      contains(child:lua('return vim.fn.expand("%:t")'), 'copydesk.txt', tag)
    end
  end)
end

return tests
