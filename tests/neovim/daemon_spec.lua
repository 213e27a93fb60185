-- Whole turns: the plugin in a real Neovim, the real daemon, and a model server that follows a script. Only the model and the person are played.

local harness = require('harness')
local equal, contains = harness.equal, harness.contains

local tests = {}

--- A language server inside of the editor: it calls each `bad` an error.
local WORDS = [[
  local id = 0
  vim.lsp.start({ name = 'words', root_dir = vim.fn.getcwd(), cmd = function(dispatchers)
    local function check(document, text)
      local found, number = {}, 0
      for line in vim.gsplit(text, '\n', { plain = true }) do
        local from = line:find('bad', 1, true)
        if from then
          found[#found + 1] = { range = { start = { line = number, character = from - 1 },
            ['end'] = { line = number, character = from + 2 } }, message = 'this word is not allowed', severity = 1, source = 'words' }
        end
        number = number + 1
      end
      -- Later, as a real one would.
      vim.defer_fn(function()
        dispatchers.notification('textDocument/publishDiagnostics', { uri = document.uri, version = document.version, diagnostics = found })
      end, 20)
    end
    return {
      request = function(method, _, done)
        id = id + 1
        done(nil, method == 'initialize' and { capabilities = { textDocumentSync = { openClose = true, change = 1 } } } or vim.NIL)
        return true, id
      end,
      notify = function(method, params)
        if method == 'textDocument/didOpen' then check(params.textDocument, params.textDocument.text)
        elseif method == 'textDocument/didChange' then check(params.textDocument, params.contentChanges[1].text) end
        return true
      end,
      is_closing = function() return false end,
      terminate = function() end,
    }
  end })
]]

local with, call = harness.with_daemon, harness.call

function tests.c25_unsaved_text_is_read_edited_checked_mended_and_a_command_is_allowed()
  local requests = with({
    files = { ['words.txt'] = 'one\ntwo\n' },
    replies = function(workspace)
      local file = workspace .. '/words.txt'
      return {
        call('read', { filePath = file }, 'mend the words'),
        call('edit', { filePath = file, oldString = 'two', newString = 'two bad' }, 'typed and not saved'),
        call('edit', { filePath = file, oldString = 'two bad', newString = 'two good' }, 'this word is not allowed'),
        call('bash', { command = 'echo ran; cat words.txt', description = 'Look' }, 'Changed words.txt'),
        { when = 'ran', text = 'All is **well**.' },
      }
    end,
  }, function(child)
    child:command('edit words.txt')
    child:lua(WORDS)
    child:wait("return vim.lsp.get_clients({ name = 'words' })[1].initialized", 'the language server')
    child:type('otyped and not saved<Esc>')
    child:prompt('mend the words')
    local menu = child:menu(1)
    contains(child:preview() or '', 'echo ran; cat words.txt', 'the preview')
    contains(child:preview() or '', 'words.txt has unsaved text in the editor', 'the text of the user is told apart')
    -- The user goes on while the ask is open.
    child:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('words.txt'))")
    child:type('Gothe user went on<Esc>')
    child:pick(1, menu.rows[1])
    child:wait_chat('All is **well**.')
    contains(child:chat(), '+two bad', 'the first edit is shown')
    contains(child:chat(), '+two good', 'the second edit is shown')
    contains(child:chat(), '[x] echo ran; cat words.txt', 'the command is shown')
    equal(child:lines(), { 'one', 'typed and not saved', 'two good', 'the user went on' }, 'the buffer')
    equal(
      harness.read(child.workspace .. '/words.txt'),
      'one\ntwo\n',
      'the disk: text of the user is not saved for him'
    )
    child:type('u')
    equal(child:lines(), { 'one', 'typed and not saved', 'two good' }, "the user's own step")
    child:type('u')
    equal(child:lines(), { 'one', 'typed and not saved', 'two bad' }, 'one undo takes back one edit')
    child:type('u')
    equal(child:lines(), { 'one', 'typed and not saved', 'two' }, 'the other edit; the typing survives')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
  end)
  contains(requests, 'this word is not allowed', 'the model was told of the problem')
end

function tests.r21_1_the_output_of_a_command_is_seen_while_it_runs()
  with({
    files = { ['a.txt'] = 'one\n' },
    permission = { bash = 'allow' },
    replies = function()
      local waits = 'echo first; until [ -e go ]; do sleep 0.02; done; echo last'
      return { call('bash', { command = waits, description = 'Wait' }, 'wait'), { when = 'last', text = 'Waited.' } }
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('wait')
    child:wait_chat('```text\nfirst\n```')
    contains(child:chat(), '[~] echo first', 'it runs')
    harness.write(child.workspace .. '/go', '')
    child:wait_chat('Waited.')
    contains(child:chat(), 'first\nlast\n[exit code 0]', 'the whole result')
  end)
end

function tests.r6_2_edits_of_the_daemon_and_keys_of_the_user_go_together_in_insert_mode()
  local ROUNDS, KEYS = 12, 30
  with({
    files = { ['a.txt'] = 'one\n@@\nhere: \n' },
    replies = function(workspace)
      local replies = { call('read', { filePath = workspace .. '/a.txt' }, 'count the steps') }
      for round = 1, ROUNDS do
        local edit = call(
          'edit',
          { filePath = workspace .. '/a.txt', oldString = '@@', newString = ('step %d\n@@'):format(round) }
        )
        edit.gate = 'round ' .. round
        replies[#replies + 1] = edit
      end
      replies[#replies + 1] = { text = 'Counted.' }
      return replies
    end,
  }, function(child, model)
    child:command('edit a.txt')
    child:type('GA')
    child:prompt('count the steps')
    local typed, count = {}, 0
    local function type_keys(keys)
      for _ = 1, keys do
        count = count + 1
        local key = count % 7 == 0 and ' ' or string.char(97 + count % 26)
        child:type(key == ' ' and '<Space>' or key)
        typed[#typed + 1] = key
      end
    end
    for round = 1, ROUNDS do
      -- In even rounds the edit falls into the middle of the keys. A refused one is tried again once, so in odd rounds it has to come through.
      local late = round % 2 == 0 and KEYS or 1
      type_keys(KEYS - late)
      vim.fn.chansend(model.job, ('open round %d\n'):format(round))
      type_keys(late)
      harness.wait(function()
        local _, ended = child:chat():gsub('%f[%[]%[[x!]%] Edit', '')
        return ended == round
      end, 'edit ' .. round)
    end
    child:wait_chat('Counted.')
    equal(child:mode(), 'i', 'still in Insert mode')
    child:type('<Esc>')
    local _, done = child:chat():gsub('%[x%] Edit', '')
    assert(done >= ROUNDS / 2, ('only %d edits came through'):format(done))
    local expected = { 'one' }
    for round = 1, ROUNDS do
      -- What was reported as done is there; what was refused is not.
      if child:chat():find(('+step %d\n'):format(round), 1, true) then
        expected[#expected + 1] = 'step ' .. round
      end
    end
    equal(#expected, done + 1, 'the diffs of the edits')
    vim.list_extend(expected, { '@@', 'here: ' .. table.concat(typed) })
    equal(child:lines(), expected, 'every key, and every edit that was reported')
    child:command('silent! undo 0')
    equal(child:lines(), { 'one', '@@', 'here: ' }, 'undone')
    child:lua("vim.cmd('silent undo ' .. vim.fn.undotree().seq_last)")
    equal(child:lines(), expected, 'done again')
  end)
end

function tests.a_file_that_only_the_agent_has_changed_is_saved_and_read_again_around_a_command()
  with({
    files = { ['a.txt'] = 'one\ntwo\n' },
    replies = function(workspace)
      local file = workspace .. '/a.txt'
      return {
        call('read', { filePath = file }, 'change and run'),
        call('edit', { filePath = file, oldString = 'one', newString = 'ONE' }, 'two'),
        call('bash', { command = "cat a.txt; sed -i 's/two/TWO/' a.txt" }, 'Changed a.txt'),
        { when = 'ONE', text = 'Both are done.' },
      }
    end,
  }, function(child)
    child:command('edit a.txt')
    child:type('j')
    child:prompt('change and run')
    local menu = child:menu(1)
    contains(child:preview() or '', 'a.txt is saved first: only the agent has changed it', 'who has changed it')
    child:pick(1, menu.rows[1])
    child:wait_chat('Both are done.')
    equal(harness.read(child.workspace .. '/a.txt'), 'ONE\nTWO\n', 'the disk')
    child:command('buffer a.txt')
    equal({ child:lines(), child:lua('return vim.bo.modified') }, { { 'ONE', 'TWO' }, false }, 'the buffer')
    equal(child:lua('return vim.api.nvim_win_get_cursor(0)[1]'), 2, 'the cursor')
  end)
end

function tests.r2_4_a_cancel_stops_a_command_that_runs()
  with({
    files = {},
    replies = function()
      return { call('bash', { command = 'echo $$ > pid; exec sleep 600' }, 'wait') }
    end,
  }, function(child)
    child:prompt('wait')
    child:pick(1, child:menu(1).rows[1])
    local pid = harness.wait(function()
      return vim.uv.fs_stat(child.workspace .. '/pid') and tonumber(harness.read(child.workspace .. '/pid'))
    end, 'the command')
    child:command('CopydeskCancel')
    child:wait_chat('> stopped')
    harness.wait(function()
      return vim.uv.kill(pid, 0) ~= 0
    end, 'the end of the command')
  end)
end

function tests.c30_the_user_types_while_the_ask_of_an_edit_is_open()
  with({
    files = { ['a.txt'] = 'one\ntwo\n' },
    permission = { edit = 'ask' },
    replies = function(workspace)
      local file = workspace .. '/a.txt'
      return {
        call('read', { filePath = file }, 'shout'),
        call('edit', { filePath = file, oldString = 'two', newString = 'TWO' }),
        { when = 'Changed a.txt', text = 'Shouted.' },
      }
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('shout')
    child:menu(1)
    contains(child:preview() or '', '-two\n+TWO', 'the diff')
    child:type('Oabove<Esc>')
    child:pick(1, child:menu(1).rows[1])
    -- Made anew for the text as it is, or asked again with it.
    local asked = 1
    harness.wait(function()
      if child:lua('return #_G.menus') > asked then
        asked = asked + 1
        contains(child:preview() or '', '-two\n+TWO', 'the diff, again')
        child:pick(asked, child:menu(asked).rows[1])
      end
      return child:chat():find('Shouted.', 1, true)
    end, 'the end of the turn')
    equal(child:lines(), { 'above', 'one', 'TWO' }, 'both')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
    child:type('u')
    equal(child:lines(), { 'above', 'one', 'two' }, 'one undo takes back the edit alone')
    equal(harness.read(child.workspace .. '/a.txt'), 'one\ntwo\n', 'the disk')
  end)
end

function tests.a_question_of_the_model_is_a_menu()
  with({
    files = {},
    replies = function()
      local options = { { label = 'left', description = 'by the sea' }, { label = 'right', description = '' } }
      local questions = { { question = 'Which way?', header = 'Way', options = options } }
      return {
        call('question', { questions = questions }, 'go'),
        { when = '"Which way?"="straight on"', text = 'So be it.' },
      }
    end,
  }, function(child)
    child:prompt('go')
    local menu = child:menu(1)
    equal(menu.prompt, 'Copydesk: Which way?', 'the question')
    equal(menu.rows, { 'left: by the sea', 'right', 'Something else …', 'Dismiss the question' }, 'the answers')
    child:pick(1, 'Something else …')
    child:wait('return #_G.inputs == 1', 'the input')
    child:lua("_G.inputs[1].done('straight on')")
    child:wait_chat('So be it.')
  end)
end

function tests.a_rejection_with_a_message_reaches_the_model()
  with({
    files = {},
    replies = function()
      return {
        call('bash', { command = 'rm -rf build' }, 'clean up'),
        { when = 'use make clean', text = 'As you wish.' },
      }
    end,
  }, function(child)
    child:prompt('clean up')
    local row
    for _, name in ipairs(child:menu(1).rows) do
      row = name:find('say what to do instead', 1, true) and name or row
    end
    child:pick(1, row)
    child:wait('return #_G.inputs == 1', 'the input')
    child:lua("_G.inputs[1].done('use make clean')")
    child:wait_chat('As you wish.')
  end)
end

function tests.r12_4_a_daemon_that_is_killed_is_shown_and_comes_back()
  local requests = with({
    files = {},
    replies = function()
      return {
        call('bash', { command = 'sleep 600' }, 'remember the word'),
        { when = 'again', text = 'Here I am.' },
      }
    end,
  }, function(child)
    child:lua(
      "require('copydesk.config').set({ cmd = require('copydesk.config').get().cmd, restart = { attempts = 1, delay = 10 } })"
    )
    child:prompt('remember the word')
    child:menu(1)
    child:lua([[
      for _, pid in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do vim.uv.kill(pid, 'sigkill') end
    ]])
    child:wait_chat('interrupted: the daemon was ended by signal 9')
    child:wait("return require('copydesk.client').status() == 'ready'", 'the next daemon')
    child:prompt('again')
    child:wait_chat('Here I am.')
    assert(not child:chat():find('could not be taken up', 1, true), child:chat())
  end)
  local last = vim.split(vim.trim(requests), '\n')
  contains(last[#last], 'remember the word', 'the conversation goes on')
end

function tests.r12_3_a_conversation_that_was_left_or_ended_with_its_daemon_is_gone_on_with()
  local requests = with({
    files = {},
    replies = function()
      return { { when = 'first words', text = 'Noted.' }, { text = 'Again.' }, { text = 'And again.' } }
    end,
  }, function(child)
    child:prompt('first words')
    child:wait_chat('Noted.')
    for round, answer in ipairs({ 'Again.', 'And again.' }) do
      child:command('CopydeskNew')
      if round == 2 then
        child:command('CopydeskRestart')
      end
      child:command('CopydeskSessions')
      child:pick(round, child:menu(round).rows[1])
      child:wait_chat('Noted.')
      child:prompt('more words')
      child:wait_chat(answer)
    end
  end)
  local last = vim.split(vim.trim(requests), '\n')
  contains(last[#last], 'first words', 'the conversation goes on')
  contains(last[#last], 'Again.', 'all of it')
end

function tests.checkhealth_is_content_with_the_daemon()
  with({
    files = {},
    replies = function()
      return {}
    end,
  }, function(child)
    child:command('checkhealth copydesk')
    local report = table.concat(child:lines(), '\n')
    contains(report, 'copydesk: copydesk ', 'the version')
    contains(report, 'the daemon answers: copydesk', 'the hand-shake')
    assert(not report:find('ERROR', 1, true), report)
  end)
end

function tests.c83_the_wait_before_another_try_ticks_down_in_the_conversation()
  with({
    files = {},
    replies = function()
      return {
        { refuse = { status = 429, message = 'slow down', headers = { ['retry-after'] = '2' } } },
        { text = 'All is well.' },
      }
    end,
  }, function(child)
    child:prompt('go')
    -- Up to half a second more than was asked for.
    for _, left in ipairs({ 3, 2, 1 }) do
      child:wait(
        [[return (require('copydesk').statusline()):find(('trying again in %d s (1 of 5)'):format(...), 1, true)]],
        ('%d s'):format(left),
        left
      )
    end
    child:wait_chat('All is well.')
    contains(child:chat(), 'slow down', 'the reason')
    equal(child:lua("return require('copydesk.countdown').text()"), vim.NIL, 'nothing is waited for')
  end)
end

return tests
