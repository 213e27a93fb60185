-- A daemon for the tests of the plugin: `nvim -l fake_daemon.lua`. It speaks the wire on stdio and keeps no opinion of its own: a prompt
-- is Lua, run as a coroutine with the functions of `scene` below, so that each test holds its own story. Documents are kept as the
-- editor tells of them. `FAKE_OFFER` (JSON) replaces the answer to the opt-in, `FAKE_START` is run before `initialize` is answered.

local input, output = vim.uv.new_pipe(), vim.uv.new_pipe()
input:open(0)
output:open(1)

local documents = {} ---@type table<string, { version: integer, text: string, language: string, changes: integer }>
local closed, pending, next_id, over = {}, {}, 0, false
local received = {} ---@type table[]
--- Answers that a story has for requests: the params, and a function for the result or the error.
local answers = {} ---@type table<string, fun(params: table, reply: fun(result: any, err?: table))>
local waiters = {} ---@type fun()[]

local function send(message)
  message.jsonrpc = '2.0'
  local body = vim.json.encode(message)
  output:write(('Content-Length: %d\r\n\r\n%s'):format(#body, body))
end

local function offset(text, position)
  local at = 1
  for _ = 1, position.line do
    at = assert(text:find('\n', at, true), 'a line beyond the document') + 1
  end
  -- The tests speak UTF-8.
  return at + position.character
end

local function change(params)
  local document = assert(documents[params.textDocument.uri], 'a change of a document that is not open')
  assert(params.textDocument.version > document.version, 'a version that does not rise')
  for _, edit in ipairs(params.contentChanges) do
    local from, to = offset(document.text, edit.range.start), offset(document.text, edit.range['end'])
    document.text = document.text:sub(1, from - 1) .. edit.text .. document.text:sub(to)
  end
  document.version = params.textDocument.version
  document.changes = document.changes + 1
end

--- What a prompt can use; each of them may be called in its coroutine only.
local function scene(id, session)
  local thread = coroutine.running()
  local api = { documents = documents, received = received, closed = closed, session = session, answers = answers }

  function api.update(update)
    send({ method = 'session/update', params = { sessionId = session, update = update } })
  end

  function api.say(text, message)
    api.update({
      sessionUpdate = 'agent_message_chunk',
      content = { type = 'text', text = text },
      messageId = message,
    })
  end

  function api.notify(method, params)
    send({ method = method, params = params })
  end

  --- Sends a request; the answer comes to `await`.
  function api.start(method, params)
    next_id = next_id + 1
    send({ id = next_id, method = method, params = params })
    pending[next_id] = { thread = thread }
    return next_id
  end

  function api.await(request)
    local slot = pending[request]
    while not slot.answer do
      slot.waits = true
      coroutine.yield()
    end
    return slot.answer.result, slot.answer.error
  end

  function api.request(method, params)
    return api.await(api.start(method, params))
  end

  function api.ask(call, options)
    return api.start('session/request_permission', {
      sessionId = session,
      toolCall = call,
      options = options or {
        { optionId = 'yes', name = 'Allow', kind = 'allow_once' },
        { optionId = 'ever', name = 'Always allow', kind = 'allow_always' },
        { optionId = 'no', name = 'Reject', kind = 'reject_once' },
      },
    })
  end

  --- Puts questions, as fields of a form.
  function api.form(call, message, properties, meta)
    return api.start('elicitation/create', {
      sessionId = session,
      toolCallId = call,
      mode = 'form',
      message = message,
      requestedSchema = { type = 'object', properties = properties },
      _meta = meta,
    })
  end

  --- Waits until a message makes the condition true.
  function api.wait(condition)
    while not condition() do
      waiters[#waiters + 1] = function()
        coroutine.resume(thread)
      end
      coroutine.yield()
    end
  end

  function api.edit(uri, version, edits)
    return api.request('workspace/applyEdit', {
      label = 'edit',
      edit = { documentChanges = { { textDocument = { uri = uri, version = version }, edits = edits } } },
    })
  end

  function api.finish(reason)
    send({ id = id, result = { stopReason = reason or 'end_turn' } })
  end

  function api.fail(code, message)
    send({ id = id, error = { code = code, message = message } })
  end

  function api.die(code)
    os.exit(code)
  end

  return setmetatable(api, { __index = _G })
end

local function run(code, id, session)
  coroutine.wrap(function()
    local env = scene(id, session)
    local chunk, problem = load(code, 'prompt', 't', env)
    local ok, err = pcall(chunk or error, not chunk and problem or nil)
    if not ok then
      send({ id = id, error = { code = -32603, message = 'the story broke: ' .. tostring(err) } })
    end
  end)()
end

local offer = vim.env.FAKE_OFFER and vim.json.decode(vim.env.FAKE_OFFER)
  or {
    protocol = 1,
    agentInfo = { name = 'fake', version = '0' },
    agentCapabilities = { promptCapabilities = { embeddedContext = true } },
    methods = { '_copydesk/changes', '_copydesk/diff', '_copydesk/undo' },
  }

local modes =
  { currentModeId = 'build', availableModes = { { id = 'build', name = 'Build' }, { id = 'plan', name = 'Plan' } } }
local options = {
  {
    id = 'model',
    name = 'Model',
    category = 'model',
    type = 'select',
    currentValue = 'a/one',
    options = {
      { group = 'a', name = 'A', options = { { value = 'a/one', name = 'One' }, { value = 'a/two', name = 'Two' } } },
    },
  },
  {
    id = 'permission',
    name = 'Permission mode',
    category = '_permission',
    type = 'select',
    currentValue = 'ask',
    options = { { value = 'ask', name = 'Ask' }, { value = 'workspace', name = 'Workspace' } },
  },
}
local grants = {
  { id = 'g1', scope = 'session', permission = 'bash', text = 'bash "make" (agent build)' },
  { id = 'g2', scope = 'project', permission = 'edit', text = 'edit "a.txt" (agent build)' },
}
local sessions = 0

local requests = {
  initialize = function(params)
    assert(params.capabilities.experimental.copydesk.protocol == 1)
    if vim.env.FAKE_START then
      local function notify(method, told)
        send({ method = method, params = told })
      end
      load(
        vim.env.FAKE_START,
        'start',
        't',
        setmetatable({ answers = answers, documents = documents, notify = notify }, { __index = _G })
      )()
    end
    return {
      capabilities = {
        positionEncoding = 'utf-8',
        textDocumentSync = { openClose = true, change = 2, save = true },
        experimental = { copydesk = offer ~= vim.NIL and offer or nil },
      },
    }
  end,
  shutdown = function()
    return vim.NIL
  end,
  ['session/new'] = function(params)
    assert(params.cwd:sub(1, 1) == '/' and vim.islist(params.mcpServers))
    sessions = sessions + 1
    return { sessionId = 's' .. sessions, modes = modes, configOptions = options }
  end,
  ['session/set_mode'] = function(params)
    modes.currentModeId = params.modeId
    return vim.empty_dict()
  end,
  ['session/set_config_option'] = function(params)
    for _, option in ipairs(options) do
      if option.id == params.configId then
        option.currentValue = params.value
      end
    end
    return { configOptions = options }
  end,
  ['_copydesk/grants'] = function(params)
    local before = #grants
    for index = #grants, 1, -1 do
      if vim.list_contains(params.revoke or {}, grants[index].id) then
        table.remove(grants, index)
      end
    end
    return { grants = grants, revoked = before - #grants, problem = vim.env.FAKE_PROBLEM }
  end,
}

local notifications = {
  ['textDocument/didOpen'] = function(params)
    local document = params.textDocument
    documents[document.uri] =
      { version = document.version, text = document.text, language = document.languageId, changes = 0 }
  end,
  ['textDocument/didChange'] = change,
  ['textDocument/didClose'] = function(params)
    documents[params.textDocument.uri] = nil
    closed[params.textDocument.uri] = true
  end,
  --- Lua outside of a story.
  ['fake/run'] = function(params)
    assert(load(params.code))()
  end,
  exit = function()
    over = true
  end,
}

local function handle(message)
  received[#received + 1] = message
  if not message.method then
    local slot = pending[message.id]
    slot.answer = message
    if slot.waits then
      coroutine.resume(slot.thread)
    end
  elseif message.method == 'session/prompt' then
    run(message.params.prompt[1].text, message.id, message.params.sessionId)
  elseif message.id then
    local answer = requests[message.method]
    if answers[message.method] then
      answers[message.method](message.params, function(result, err)
        send({ id = message.id, result = not err and (result == nil and vim.NIL or result) or nil, error = err })
      end)
    elseif answer then
      send({ id = message.id, result = answer(message.params) })
    else
      send({ id = message.id, error = { code = -32601, message = 'no such method: ' .. message.method } })
    end
  elseif notifications[message.method] then
    notifications[message.method](message.params)
  end
  local woken = waiters
  waiters = {}
  for _, wake in ipairs(woken) do
    wake()
  end
end

local buffered = ''
input:read_start(function(err, data)
  assert(not err, err)
  if not data then
    over = true
    return
  end
  buffered = buffered .. data
  while true do
    local from, to, length = buffered:find('Content%-Length: (%d+)\r\n\r\n')
    if not from or #buffered < to + tonumber(length) then
      return
    end
    local body = buffered:sub(to + 1, to + tonumber(length))
    buffered = buffered:sub(to + tonumber(length) + 1)
    vim.schedule(function()
      handle(vim.json.decode(body, { luanil = { object = true } }))
    end)
  end
end)

vim.wait(300000, function()
  return over
end, 5)
os.exit(0)
