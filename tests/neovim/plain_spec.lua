-- Neovim without the plugin: its own LSP client, the real daemon, and a model server that follows a script. Only the model and the person are played.

local harness = require('harness')
local equal, contains = harness.equal, harness.contains

local tests = {}

---@param replies table[]
---@param test fun(child: Child)
---@return string requests
local function with(replies, test)
  local child = harness.child({ plain = true, files = { ['a.txt'] = 'one\ntwo\n' } })
  local model = harness.start_model(replies)
  local config = {
    model = 'scripted/one',
    -- An edit needs no question where undo reaches it; these tests are about the question.
    permission = { edit = 'ask' },
    provider = {
      scripted = {
        npm = '@ai-sdk/openai-compatible',
        options = { baseURL = ('http://127.0.0.1:%s/v1'):format(model.port), apiKey = 'none' },
        models = { one = { name = 'One' } },
      },
    },
  }
  child:lua(
    [[
    local config, program = ...
    vim.env.COPYDESK_CONFIG_CONTENT = config
    assert(not pcall(require, 'copydesk'), 'the plugin is there')
    vim.lsp.handlers['window/showMessage'] = function(_, params) table.insert(_G.told, params.message) return vim.NIL end
    vim.cmd.edit('a.txt')
    vim.o.hidden = true
    _G.file = vim.api.nvim_get_current_buf()
    _G.client = vim.lsp.start({ name = 'copydesk', cmd = { program, 'serve' }, root_dir = vim.fn.getcwd() })
    _G.turns = 0
    vim.api.nvim_create_autocmd('LspProgress', { pattern = 'end', callback = function() _G.turns = _G.turns + 1 end })
    vim.api.nvim_create_autocmd('BufEnter', { pattern = '*.md', callback = function(event)
      _G.chat = event.buf
      vim.lsp.buf_attach_client(event.buf, _G.client)
    end })
  ]],
    vim.json.encode(config),
    assert(vim.env.COPYDESK_BIN)
  )
  child:wait('return vim.lsp.get_client_by_id(_G.client).initialized', 'the daemon')
  local passed, problem = xpcall(test, debug.traceback, child)
  if not passed then
    problem = ('%s\ntold:\n%s\nmodel:\n%s'):format(problem, child:told(), table.concat(model.complaints, '\n'))
  end
  child:stop()
  local ended, requests = pcall(harness.stop_model, model)
  if not passed then
    error(problem, 0)
  end
  assert(ended, requests)
  return requests
end

---@param child Child
---@param arguments any[]
local function prompt(child, arguments)
  child:lua(
    [[vim.lsp.get_client_by_id(_G.client):exec_cmd({ title = 'prompt', command = 'copydesk.prompt', arguments = ... })]],
    arguments
  )
end

---@param child Child
---@return string
local function chat(child)
  return child:lua([[return _G.chat and table.concat(vim.api.nvim_buf_get_lines(_G.chat, 0, -1, false), '\n') or '']])
end

---@param child Child
---@param count integer
local function wait_turns(child, count)
  child:wait('return _G.turns >= ...', 'the end of turn ' .. count, count)
end

function tests.r6_2_an_edit_is_asked_by_a_menu_and_undone_by_one_step()
  local edit = { name = 'edit', arguments = { filePath = 'a.txt', oldString = 'unsaved', newString = 'EDITED' } }
  with({ { when = 'go', calls = { edit } }, { text = 'It is done.' } }, function(child)
    child:lua([[vim.api.nvim_buf_set_lines(_G.file, 1, 1, false, { 'unsaved' })]])
    prompt(child, { 'go' })
    contains(child:menu(1).prompt, '+EDITED', 'the question')
    equal(child:lua('return vim.api.nvim_buf_get_lines(_G.file, 0, -1, false)'), { 'one', 'unsaved', 'two' }, 'before')
    child:pick(1, 'Allow once')
    wait_turns(child, 1)
    equal(child:lua('return vim.api.nvim_buf_get_lines(_G.file, 0, -1, false)'), { 'one', 'EDITED', 'two' }, 'after')
    equal(harness.read(child.workspace .. '/a.txt'), 'one\ntwo\n', 'the file')
    contains(chat(child), 'It is done.\n', 'the conversation')
    contains(chat(child), '\n## Prompt\n', 'a place for the next prompt')
    child:lua([[vim.api.nvim_buf_call(_G.file, function() vim.cmd('silent undo') end)]])
    equal(child:lua('return vim.api.nvim_buf_get_lines(_G.file, 0, -1, false)'), { 'one', 'unsaved', 'two' }, 'undone')
  end)
end

function tests.r16_3_a_dismissed_ask_is_answered_by_a_code_action()
  local run = { name = 'bash', arguments = { command = 'touch ran.txt', description = 'Run it' } }
  with({ { when = 'go', calls = { run } }, { text = 'It ran.' } }, function(child)
    prompt(child, { 'go' })
    child:pick(1, nil)
    child:wait([[return table.concat(_G.told, '\n'):find('code action', 1, true)]], 'the word of code actions')
    equal(vim.uv.fs_stat(child.workspace .. '/ran.txt'), nil, 'nothing ran')
    child:lua([[vim.api.nvim_set_current_buf(_G.file) vim.lsp.buf.code_action()]])
    local row = vim.iter(child:menu(2).rows):find(function(text)
      return vim.startswith(text, 'Copydesk: allow once')
    end)
    child:pick(2, row)
    wait_turns(child, 1)
    assert(vim.uv.fs_stat(child.workspace .. '/ran.txt'), 'it ran')
  end)
end

function tests.a_prompt_is_written_in_the_chat_document_and_sent_from_there()
  local requests = with({ { when = 'Why', text = 'Because.' } }, function(child)
    child:lua([[vim.lsp.buf.code_action({ context = { diagnostics = {} } })]])
    child:pick(1, 'Ask Copydesk')
    child:wait('return _G.chat == vim.api.nvim_get_current_buf()', 'the chat document')
    contains(chat(child), '## Prompt\n\n[a.txt:1](file://', 'the place')
    child:lua([[vim.api.nvim_buf_set_lines(_G.chat, -1, -1, false, { 'Why?' })]])
    child:lua([[vim.lsp.buf.code_action()]])
    child:pick(2, 'Send to Copydesk')
    wait_turns(child, 1)
    contains(chat(child), 'Why?\n\n## Copydesk\n\nBecause.\n', 'the conversation')
  end)
  contains(requests, 'Why?', 'the request')
end

return tests
