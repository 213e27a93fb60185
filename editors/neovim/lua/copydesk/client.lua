-- The daemon as an LSP client of Neovim: start, hand-shake, restart after a crash, requests both ways.
-- What the messages mean is known by the modules that they are handed to.

local config = require('copydesk.config')
local documents = require('copydesk.documents')
local log = require('copydesk.log')

local M = {}

--- The version of the additions that this plugin speaks.
M.PROTOCOL = 1

--- A daemon that ran this long, in milliseconds, is not in a crash loop.
local STABLE_AFTER = 60000

---@alias copydesk.Status 'stopped'|'starting'|'ready'|'restarting'|'failed'

---@class copydesk.ServerOffer The daemon's answer to the opt-in.
---@field protocol integer
---@field agentInfo { name: string, version: string, title: string? }
---@field agentCapabilities table
---@field methods string[]

---@alias copydesk.Ready fun(client: vim.lsp.Client?, err: string?)
---@alias copydesk.Answer fun(err: { code: integer, message: string }?, result: any)

local state = {
  ---@type copydesk.Status
  status = 'stopped',
  ---@type integer?
  id = nil,
  ---@type copydesk.ServerOffer?
  offer = nil,
  ---@type string?
  root = nil,
  ---@type string?
  error = nil,
  ---@type copydesk.Ready[]
  waiting = {},
  ---@type table<integer, copydesk.Answer> By request id.
  pending = {},
  crashes = 0,
  started_at = 0,
  ---@type uv.uv_timer_t?
  timer = nil,
}

local group = vim.api.nvim_create_augroup('copydesk.client', {})

---@return copydesk.Status status
---@return string? error
function M.status()
  return state.status, state.error
end

---@return copydesk.ServerOffer?
function M.offer()
  return state.offer
end

---@return vim.lsp.Client?
function M.current()
  return state.status == 'ready' and state.id and vim.lsp.get_client_by_id(state.id) or nil
end

--- The workspace folder of the daemon that runs; nil before the first start.
---@return string?
function M.root()
  return state.root
end

local function stop_timer()
  if state.timer then
    state.timer:stop()
    if not state.timer:is_closing() then
      state.timer:close()
    end
    state.timer = nil
  end
end

---@param status copydesk.Status
local function become(status)
  state.status = status
  require('copydesk.session').changed()
end

---@param client vim.lsp.Client?
---@param err string?
local function wake(client, err)
  local waiting = state.waiting
  state.waiting = {}
  for _, ready in ipairs(waiting) do
    ready(client, err)
  end
end

---@param text string
local function fail(text)
  stop_timer()
  state.error = text
  become('failed')
  log.tell(text, vim.log.levels.ERROR)
  wake(nil, text)
end

--- A daemon's exit is told only while it is the present one: forgetting it first makes its end expected.
---@param force boolean
local function dismiss(force)
  local client = state.id and vim.lsp.get_client_by_id(state.id)
  state.id, state.offer = nil, nil
  vim.api.nvim_clear_autocmds({ group = group })
  documents.stop()
  require('copydesk.diagnostics').stop()
  if client then
    client:stop(force)
  end
end

--- Every request that the daemon will not answer any more is answered here.
---@param reason string
local function abandon(reason)
  require('copydesk.ask').drop_all()
  require('copydesk.changes').clear()
  require('copydesk.session').daemon_ended(reason)
  local pending = state.pending
  state.pending = {}
  for _, answer in pairs(pending) do
    answer({ code = vim.lsp.protocol.ErrorCodes.InternalError, message = reason }, nil)
  end
end

--- Neovim hands no answer of -32800 to the caller: only its autocommand tells that such a request is over.
local function watch_cancelled()
  vim.api.nvim_create_autocmd('LspRequest', {
    group = group,
    callback = function(event)
      local id = event.data.request_id
      if event.data.client_id ~= state.id or event.data.request.type ~= 'complete' or not state.pending[id] then
        return
      end
      vim.schedule(function()
        local answer = state.pending[id]
        if answer then
          answer({ code = vim.lsp.protocol.ErrorCodes.RequestCancelled, message = 'cancelled' }, nil)
        end
      end)
    end,
  })
end

local start

---@param code integer
---@param signal integer
local function crashed(code, signal)
  local options = config.get()
  local reason = signal ~= 0 and ('the daemon was ended by signal %d'):format(signal)
    or ('the daemon ended with exit code %d'):format(code)
  if vim.uv.now() - state.started_at > STABLE_AFTER then
    state.crashes = 0
  end
  state.crashes = state.crashes + 1
  stop_timer()
  dismiss(true)
  abandon(reason)
  if state.crashes > options.restart.attempts then
    fail(('%s, %d times. See :CopydeskLog; :CopydeskRestart tries again.'):format(reason, state.crashes))
    return
  end
  local delay = options.restart.delay * 2 ^ (state.crashes - 1)
  become('restarting')
  log.tell(
    ('%s; it is started again (%d of %d)'):format(reason, state.crashes, options.restart.attempts),
    vim.log.levels.WARN
  )
  state.timer = vim.defer_fn(function()
    state.timer = nil
    start()
  end, delay)
end

---@param client vim.lsp.Client
---@param result lsp.InitializeResult
local function initialized(client, result)
  if client.id ~= state.id then
    return
  end
  stop_timer()
  local offer = vim.tbl_get(result, 'capabilities', 'experimental', 'copydesk')
  local refusal
  if type(offer) ~= 'table' then
    refusal = ('`%s` is a language server, but not a Copydesk daemon that this plugin can talk to. Check the option `cmd`.'):format(
      config.get().cmd[1]
    )
  elseif offer.protocol ~= M.PROTOCOL then
    refusal = ('the daemon speaks version %s of the protocol and this plugin version %d. Update the older of the two.'):format(
      tostring(offer.protocol),
      M.PROTOCOL
    )
  end
  if refusal then
    dismiss(false)
    fail(refusal)
    return
  end
  state.offer = offer
  state.error = nil
  become('ready')
  require('copydesk.diagnostics').start(client.id)
  watch_cancelled()
  documents.start(client.id)
  wake(client, nil)
end

--- A handler of a request whose answer comes later, by its last argument, at most once.
---@param handle fun(params: any, answer: fun(result: any, err?: lsp.ResponseError))
---@return lsp.Handler
local function later(handle)
  return function(_, params)
    local thread = coroutine.running()
    local answered = false
    handle(params, function(result, err)
      if not answered then
        answered = true
        -- Never before the yield below.
        vim.schedule(function()
          coroutine.resume(thread, result, err)
        end)
      end
    end)
    return coroutine.yield()
  end
end

---@return table<string, lsp.Handler>
local function handlers()
  return {
    ['session/update'] = function(_, params)
      require('copydesk.session').update(params)
    end,
    ['session/request_permission'] = later(function(params, answer)
      require('copydesk.ask').add(params, answer)
    end),
    ['elicitation/create'] = later(function(params, answer)
      require('copydesk.ask').add_form(params, answer)
    end),
    ['workspace/applyEdit'] = function(_, params, ctx)
      return require('copydesk.edit').apply(params, assert(vim.lsp.get_client_by_id(ctx.client_id)).offset_encoding)
    end,
    ['_copydesk/diagnostics'] = later(function(params, answer)
      require('copydesk.diagnostics').answer(params, answer)
    end),
    ['_copydesk/language'] = later(function(params, answer)
      local daemon = M.current()
      if daemon then
        require('copydesk.language').answer(params, daemon, answer)
      else
        answer({ state = 'unavailable' })
      end
    end),
    ['_copydesk/save'] = function(_, params)
      return require('copydesk.files').save(params)
    end,
    ['_copydesk/files_changed'] = function(_, params)
      return require('copydesk.files').changed(params)
    end,
    ['_copydesk/changed'] = function(_, params)
      require('copydesk.changes').changed(params)
    end,
    ['window/showMessage'] = function(_, params)
      require('copydesk.session').message(params.type, params.message)
    end,
    ['window/logMessage'] = function(_, params)
      log.write(vim.lsp.protocol.MessageType[params.type] or 'log', params.message)
    end,
  }
end

function start()
  local options = config.get()
  local program = options.cmd[1]
  if vim.fn.executable(program) == 0 then
    fail(
      ('`%s` was not found. Install it, or set the option `cmd` of setup(); see :checkhealth copydesk.'):format(program)
    )
    return
  end
  local found, root = pcall(config.root)
  if not found or vim.fn.isdirectory(root) == 0 then
    fail(
      found and ('the workspace folder %s is not there. Check the option `root`.'):format(root)
        or ('the option `root` of setup() failed: %s'):format(root)
    )
    return
  end
  state.root = root
  state.started_at = vim.uv.now()
  state.error = nil
  become('starting')
  ---@type integer?
  local id
  id = vim.lsp.start({
    name = 'copydesk',
    cmd = options.cmd,
    cmd_cwd = state.root,
    cmd_env = next(options.env) and options.env or nil,
    root_dir = state.root,
    settings = options.settings,
    capabilities = {
      -- Neovim takes them, and does not say so.
      workspace = { workspaceEdit = { documentChanges = true } },
      experimental = {
        copydesk = {
          protocol = M.PROTOCOL,
          acp = {
            fs = { readTextFile = false, writeTextFile = false },
            session = { notices = vim.empty_dict() },
            elicitation = { form = { _meta = { copydesk = { secrets = true } } } },
            terminal = false,
          },
          diagnostics = true,
          save = true,
          language = true,
          languageCommands = true,
          changes = true,
        },
      },
    },
    get_language_id = documents.language_id,
    handlers = handlers(),
    on_init = initialized,
    on_exit = vim.schedule_wrap(function(code, signal, client_id)
      if client_id == state.id and vim.v.exiting == vim.NIL then
        crashed(code, signal)
      end
    end),
  }, {
    attach = false,
    silent = true,
    reuse_client = function()
      return false
    end,
  })
  if not id then
    fail(('`%s` could not be started. See :CopydeskLog.'):format(table.concat(options.cmd, ' ')))
    return
  end
  state.id = id
  state.timer = vim.defer_fn(function()
    state.timer = nil
    if state.id == id and state.status == 'starting' then
      dismiss(true)
      fail(('the daemon did not answer within %.1f s. See :CopydeskLog.'):format(options.start_timeout / 1000))
    end
  end, options.start_timeout)
end

--- Calls `ready` with the daemon, started where it does not run, or with why there is none.
---@param ready copydesk.Ready
function M.ensure(ready)
  local client = M.current()
  if client then
    ready(client, nil)
    return
  end
  state.waiting[#state.waiting + 1] = ready
  if state.status == 'stopped' or state.status == 'failed' then
    state.crashes = 0
    start()
  end
end

--- Ends the daemon; whatever it was asked is answered with an error.
function M.stop()
  stop_timer()
  dismiss(false)
  -- Who is answered so and needs a daemon waits for one, and starts none.
  abandon('the daemon was stopped')
  become('stopped')
  wake(nil, 'the daemon was stopped')
end

---@param ready copydesk.Ready
function M.restart(ready)
  M.stop()
  M.ensure(ready)
end

--- Sends a request; the answer, or an error where none can come, is given exactly once.
---@param method string
---@param params table
---@param callback copydesk.Answer
function M.request(method, params, callback)
  local client = M.current()
  ---@type integer?
  local id
  local answered = false
  ---@type copydesk.Answer
  local function answer(err, result)
    if not answered then
      answered = true
      if id then
        state.pending[id] = nil
      end
      callback(err, result)
    end
  end
  local sent = false
  if client then
    -- Of all buffers, not only of the current one: the daemon answers for the texts as they are.
    documents.flush(client)
    sent, id = client:request(method, params, function(err, result)
      answer(err, result)
    end)
  end
  if not sent then
    answer({ code = vim.lsp.protocol.ErrorCodes.InternalError, message = 'the daemon does not run' }, nil)
  elseif id and not answered then
    state.pending[id] = answer
  end
end

--- What to tell the user of an error.
---@param err { code: integer, message: string }
---@param method string
---@return string
function M.explain(err, method)
  if err.code == vim.lsp.protocol.ErrorCodes.MethodNotFound then
    return ('this daemon does not know `%s`: update it'):format(method)
  end
  return err.message
end

---@param method string
---@param params table
function M.notify(method, params)
  local client = M.current()
  if client then
    client:notify(method, params)
  end
end

return M
