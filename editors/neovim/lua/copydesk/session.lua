-- The conversation with the daemon: its session and turns, and what of its updates goes where.

local chat = require('copydesk.chat')
local choices = require('copydesk.choices')
local client = require('copydesk.client')
local countdown = require('copydesk.countdown')
local log = require('copydesk.log')
local render = require('copydesk.render')

local M = {}

---@class copydesk.Turn
---@field cancelled boolean
---@field sent boolean The daemon has it; until then it waits for one.

---@class copydesk.Usage
---@field used integer Tokens in the context.
---@field size integer? The model's limit in tokens.
---@field cost { amount: number, currency: string }?

---@alias copydesk.SessionReady fun(id: string?, err: string?)

---@class copydesk.Opening
---@field id string? Of a stored conversation, or of one that is taken up again.
---@field left boolean The user has left it before it was open.

local state = {
  ---@type string?
  id = nil,
  ---@type string? Its folder.
  folder = nil,
  ---@type { id: string, folder: string }? The one that an earlier daemon had: it is taken up again.
  lost = nil,
  ---@type string? The one that was left last, which the daemon still has.
  previous = nil,
  ---@type copydesk.Opening? What is being opened: one conversation after the other.
  opening = nil,
  ---@type copydesk.SessionReady[] Those who need a conversation.
  waiting = {},
  ---@type copydesk.SessionReady[] Those who want what is being opened, and no other.
  looking = {},
  ---@type table<copydesk.Turn, true>
  turns = {},
  ---@type copydesk.Usage?
  usage = nil,
  ---@type { name: string, description: string }[] What can be written as `/name`.
  commands = {},
  ---@type table<string, true> Sessions that were left: what still comes of them is not shown.
  left = {},
}

local endings = {
  cancelled = 'stopped',
  max_tokens = "ended: the model's limit of output was reached",
  max_turn_requests = 'ended: the limit of steps of one turn was reached; prompt again to go on',
  refusal = 'ended: the model refused to answer',
}

local function forget()
  if state.id then
    state.left[state.id] = true
  end
  state.previous = state.id or state.previous
  state.id, state.lost = nil, nil
  choices.clear()
  state.usage = nil
end

---@param id string?
---@return copydesk.Opening
local function begin(id)
  state.opening = { id = id, left = false }
  return state.opening
end

---@param callers 'waiting'|'looking'
---@param id string?
---@param err string?
local function call(callers, id, err)
  local called = state[callers]
  state[callers] = {}
  for _, ready in ipairs(called) do
    ready(id, err)
  end
end

--- Nothing is being opened any more.
---@param id string?
---@param err string?
local function wake(id, err)
  state.opening = nil
  call('waiting', id, err)
  call('looking', id, err)
end

---@param id string
---@param result table The answer of `session/new` or `session/resume`.
local function opened(id, result)
  state.id, state.folder, state.lost = id, client.root(), nil
  state.left[id] = nil
  choices.set(result)
  M.changed()
  wake(id, nil)
end

local open

--- Whether the user has left the conversation before it was open. Those who need one get another.
---@param opening copydesk.Opening
---@param id string? None where it was not opened.
---@param err { message: string }?
---@return boolean
local function was_left(opening, id, err)
  if not opening.left then
    return false
  end
  if id then
    state.left[id] = true
    state.previous = id
  end
  state.opening = nil
  if #state.waiting > 0 then
    open()
  end
  call('looking', id, err and err.message)
  return true
end

local function create()
  local opening = begin(nil)
  client.request('session/new', { cwd = client.root(), mcpServers = {} }, function(err, result)
    local id = not err and type(result) == 'table' and result.sessionId or nil
    if was_left(opening, id, err) then
      return
    end
    if id then
      opened(id, result)
    else
      wake(nil, 'no session: ' .. (err and err.message or 'the daemon gave no id'))
    end
  end)
end

--- Takes up the conversation that an earlier daemon had, with all that can be undone and decided on, or begins another.
---@param lost { id: string, folder: string }
local function resume(lost)
  local offer = client.offer() or {}
  local resumes = vim.tbl_get(offer, 'agentCapabilities', 'sessionCapabilities', 'resume')
  ---@param reason string
  local function instead(reason)
    state.lost, state.left[lost.id] = nil, true
    chat.notice(('this conversation could not be taken up again (%s): a new one begins'):format(reason), 'warn')
    create()
  end
  if not resumes then
    instead('the daemon has forgotten it')
  elseif lost.folder ~= client.root() then
    instead('it was held in another folder')
  else
    local opening = begin(lost.id)
    state.left[lost.id] = nil
    local params = { sessionId = lost.id, cwd = lost.folder, mcpServers = {} }
    client.request('session/resume', params, function(err, result)
      if was_left(opening, not err and lost.id or nil, err) then
        return
      end
      if not client.current() then
        -- It is taken up again by the next one.
        wake(nil, 'no session: ' .. (err and err.message or 'the daemon does not run'))
      elseif err then
        instead(err.message)
      elseif vim.tbl_get(result, '_meta', 'copydesk', 'readOnly') then
        instead('another daemon has it open')
      else
        opened(lost.id, result)
        require('copydesk.changes').ask(lost.id)
      end
    end)
  end
end

function open()
  local opening = begin(nil)
  client.ensure(function(_, problem)
    if problem then
      wake(nil, problem)
    elseif was_left(opening, state.previous, nil) then
      return
    elseif state.lost then
      resume(state.lost)
    else
      create()
    end
  end)
end

--- Another daemon has the conversation open: it can be read, or taken from it.
---@param params { sessionId: string, cwd: string, mcpServers: table }
local function take_over(params)
  local yes, no = 'Take it over', 'Read it only'
  vim.ui.select({ yes, no }, {
    prompt = 'Copydesk: another editor has this conversation open',
    kind = 'copydesk_take_over',
  }, function(choice)
    if choice ~= yes or state.id ~= params.sessionId then
      return
    end
    local taking = vim.tbl_extend('force', params, { _meta = { copydesk = { takeOver = true } } })
    client.request('session/resume', taking, function(err, result)
      if err then
        log.tell('it was not taken over: ' .. err.message, vim.log.levels.ERROR)
      elseif state.id == params.sessionId then
        opened(params.sessionId, result)
        require('copydesk.changes').ask(params.sessionId)
      end
    end)
  end)
end

--- Calls `ready` with the session, opened where there is none, or with why there is none.
---@param ready copydesk.SessionReady
function M.ensure(ready)
  if state.id then
    ready(state.id, nil)
    return
  end
  state.waiting[#state.waiting + 1] = ready
  if not state.opening then
    open()
  end
end

--- Calls `ready` with the session whose work the user can see: the present one, which may be just being opened, or the one that was left
--- last. None is opened for it.
---@param ready copydesk.SessionReady
function M.latest(ready)
  if state.opening then
    state.looking[#state.looking + 1] = ready
  elseif state.id or state.lost then
    M.ensure(ready)
  else
    ready(state.previous, nil)
  end
end

--- Leaves the conversation for a stored one, which is shown and gone on with.
---@param id string
function M.load(id)
  if id == state.id then
    return
  end
  if state.opening then
    log.tell('a conversation is being opened already')
    return
  end
  M.reset()
  local opening = begin(id)
  state.left[id] = nil
  local params = { sessionId = id, cwd = client.root(), mcpServers = {} }
  client.request('session/load', params, function(err, result)
    if was_left(opening, not err and id or nil, err) then
      return
    end
    chat.end_turn()
    if err then
      chat.notice('the conversation could not be opened: ' .. err.message, 'error')
      wake(nil, err.message)
      return
    end
    opened(id, result)
    require('copydesk.changes').ask(id)
    if vim.tbl_get(result, '_meta', 'copydesk', 'readOnly') then
      take_over(params)
    end
  end)
end

---@return string?
function M.id()
  return state.id
end

---@return boolean
function M.running()
  return next(state.turns) ~= nil
end

--- What the daemon does without the model, where a prompt is `/name`.
---@return { name: string, description: string }[]
function M.commands()
  return state.commands
end

---@return copydesk.Usage?
function M.usage()
  return state.usage
end

--- What the status lines show has changed.
function M.changed()
  vim.schedule(function()
    vim.api.nvim_exec_autocmds('User', { pattern = 'CopydeskStatus', modeline = false })
    vim.cmd.redrawstatus({ bang = true })
  end)
end

--- The content blocks of a prompt: its text, then what it is about.
---@param text string
---@param contexts copydesk.Context[]
---@return table[]
local function blocks(text, contexts)
  local offer = client.offer()
  local embed = offer and vim.tbl_get(offer, 'agentCapabilities', 'promptCapabilities', 'embeddedContext')
  local content = { { type = 'text', text = text } }
  for _, context in ipairs(contexts) do
    if embed and context.uri then
      content[#content + 1] =
        { type = 'resource', resource = { uri = context.uri, text = context.text, mimeType = 'text/plain' } }
    else
      if context.uri then
        content[#content + 1] = { type = 'resource_link', uri = context.uri, name = context.name }
      end
      content[#content + 1] = {
        type = 'text',
        text = context.name .. ':\n' .. table.concat(render.fence(context.text, context.filetype), '\n'),
      }
    end
  end
  return content
end

---@param turn copydesk.Turn
---@param text? string What to say of its end.
---@param level? 'info'|'warn'|'error'
local function finish(turn, text, level)
  if not state.turns[turn] then
    return
  end
  state.turns[turn] = nil
  if not M.running() then
    chat.end_turn(text, level)
  elseif text then
    chat.notice(text, level)
  end
  M.changed()
end

--- Sends a prompt; while a turn runs, it steers that.
---@param text string
---@param contexts? copydesk.Context[]
function M.prompt(text, contexts)
  contexts = contexts or {}
  ---@type copydesk.Turn
  local turn = { cancelled = false, sent = false }
  state.turns[turn] = true
  chat.user(text, contexts)
  M.changed()
  M.ensure(function(id, problem)
    if turn.cancelled then
      return finish(turn, endings.cancelled)
    elseif problem then
      return finish(turn, problem, 'error')
    end
    turn.sent = true
    client.request('session/prompt', { sessionId = id, prompt = blocks(text, contexts) }, function(err, result)
      if err and err.code == vim.lsp.protocol.ErrorCodes.RequestCancelled then
        finish(turn, endings.cancelled)
      elseif err then
        finish(turn, err.message, 'error')
      else
        finish(turn, endings[result and result.stopReason])
      end
    end)
  end)
end

--- Stops what runs; asks that are open are answered as cancelled.
function M.cancel()
  countdown.stop()
  for turn in pairs(state.turns) do
    turn.cancelled = true
  end
  if state.id then
    client.notify('session/cancel', { sessionId = state.id })
  end
  require('copydesk.ask').cancel_all()
end

--- Leaves the conversation; the next prompt opens another.
function M.reset()
  if M.running() then
    M.cancel()
  end
  state.turns = {}
  if state.opening then
    state.opening.left = true
    if state.opening.id then
      state.left[state.opening.id] = true
    end
  end
  forget()
  chat.clear()
  M.changed()
end

--- The daemon is gone, and with it the session. Prompts that it did not have yet are sent to the next.
---@param reason string
function M.daemon_ended(reason)
  local lost = state.id and { id = state.id, folder = state.folder } or state.lost
  for _, turn in ipairs(vim.tbl_keys(state.turns)) do
    if turn.sent then
      finish(turn, 'interrupted: ' .. reason, 'warn')
    end
  end
  forget()
  state.lost, state.previous = lost, nil
  M.changed()
end

---@type table<string, fun(update: table)>
local updates = {
  user_message_chunk = function(update)
    chat.append('user', update.content, update.messageId)
  end,
  agent_message_chunk = function(update)
    chat.append('text', update.content, update.messageId)
  end,
  agent_thought_chunk = function(update)
    chat.append('thought', update.content, update.messageId)
  end,
  tool_call = function(update)
    chat.tool(update)
  end,
  tool_call_update = function(update)
    chat.tool(update)
    if update.status == 'completed' or update.status == 'failed' then
      require('copydesk.ask').withdraw(update.toolCallId)
    end
  end,
  plan = function(update)
    chat.plan(update.entries or {})
  end,
  notice = function(update)
    local text = update.description and update.title .. ': ' .. update.description or update.title
    chat.notice(text, update.severity == 'error' and 'error' or update.severity == 'warning' and 'warn' or 'info')
  end,
  session_info_update = function(update)
    local retry = vim.tbl_get(update, '_meta', 'copydesk', 'retry')
    if retry then
      chat.wait(retry, M.changed)
    end
  end,
  available_commands_update = function(update)
    state.commands = update.availableCommands or {}
  end,
  usage_update = function(update)
    state.usage = { used = update.used, size = update.size, cost = update.cost }
    M.changed()
  end,
  current_mode_update = function(update)
    choices.set_mode(update.currentModeId)
    M.changed()
  end,
  config_option_update = function(update)
    choices.set_options(update.configOptions)
    M.changed()
  end,
}

--- Kinds that say that the model answers.
local answers = { agent_message_chunk = true, agent_thought_chunk = true, tool_call = true, tool_call_update = true }

--- One `session/update`. Kinds that are not known are passed over, as the protocol wants it.
---@param params { sessionId: string, update: table }
function M.update(params)
  -- News of a session may come before the answer that names it.
  if state.id and params.sessionId ~= state.id or state.left[params.sessionId] then
    return
  end
  local kind = params.update.sessionUpdate
  if answers[kind] then
    countdown.stop()
  end
  local handle = updates[kind]
  if handle then
    handle(params.update)
  end
end

--- `window/showMessage`: to the user, and into the conversation where one is shown.
---@param kind integer LSP's `MessageType`.
---@param text string
function M.message(kind, text)
  local types = vim.lsp.protocol.MessageType
  local level = kind == types.Error and 'error' or kind == types.Warning and 'warn' or 'info'
  chat.notice(text, level)
  log.tell(text, vim.log.levels[level:upper()])
end

return M
