-- `_copydesk/diagnostics`: the problems that the other language servers of a buffer find, at or after the version asked for.
-- Nothing older is ever given, and nothing here blocks the editor: an answer waits for the servers' messages.

local files = require('copydesk.files')

local M = {}

--- Milliseconds: some servers tell the problems of a text in several messages, or first once more those of the old one.
local SETTLED = 200
local PUBLISH = 'textDocument/publishDiagnostics'
local PULL = 'textDocument/diagnostic'

---@class copydesk.Report What one server last said of one buffer.
---@field version integer
---@field settles? number Without a version of the server's own: when it is taken to be of this one, if nothing follows until then.
---@field items lsp.Diagnostic[]
---@field encoding string Of the columns.

---@class copydesk.Observed
---@field original? lsp.Handler The client's own handler.
---@field reports table<integer, copydesk.Report> By buffer.
---@field sent table<integer, integer> The version that the server was last told, by buffer.
---@field silent table<integer, boolean> Buffers of which it said nothing in a whole wait.
---@field speaks boolean It has published something.

local state = {
  ---@type integer? The daemon's client id.
  daemon = nil,
  ---@type table<integer, copydesk.Observed> By client id.
  observed = {},
  ---@type table<fun(), true> To be called at each news.
  waiters = {},
}

local group = vim.api.nvim_create_augroup('copydesk.diagnostics', {})

local function news()
  for _, wake in ipairs(vim.tbl_keys(state.waiters)) do
    wake()
  end
end

---@param client vim.lsp.Client
---@param params lsp.PublishDiagnosticsParams
local function published(client, params)
  local observed = state.observed[client.id]
  local buffer = observed and files.buffer_of(params.uri)
  if not buffer then
    return
  end
  observed.speaks = true
  observed.silent[buffer] = nil
  -- A server that names no version is taken to speak of the text that it was last sent, once it has settled.
  local settles = not params.version and vim.uv.now() + SETTLED or nil
  local version = params.version or observed.sent[buffer] or vim.lsp.util.buf_versions[buffer]
  local before = observed.reports[buffer]
  if not before or before.version <= version then
    observed.reports[buffer] =
      { version = version, settles = settles, items = params.diagnostics, encoding = client.offset_encoding }
  end
  news()
  if settles then
    vim.defer_fn(news, SETTLED + 1)
  end
end

--- What the server had said before it was observed: the text has not changed since then, or it will be asked of by a newer version.
---@param client vim.lsp.Client
---@param observed copydesk.Observed
local function adopt(client, observed)
  local namespace = vim.lsp.diagnostic.get_namespace(client.id)
  for buffer in pairs(client.attached_buffers) do
    local shown = vim.diagnostic.get(buffer, { namespace = namespace })
    if #shown > 0 then
      observed.speaks = true
      observed.reports[buffer] = {
        version = vim.lsp.util.buf_versions[buffer],
        items = vim.lsp.diagnostic.from(shown),
        encoding = client.offset_encoding,
      }
    end
  end
end

---@param client vim.lsp.Client
local function observe(client)
  if client.id == state.daemon or state.observed[client.id] then
    return
  end
  local original = client.handlers[PUBLISH]
  ---@type copydesk.Observed
  local observed = { original = original, reports = {}, sent = {}, silent = {}, speaks = false }
  state.observed[client.id] = observed
  adopt(client, observed)
  -- A table of its own: the client's may be the user's configuration.
  client.handlers = vim.tbl_extend('force', client.handlers, {
    [PUBLISH] = function(err, params, ctx)
      local handler = original or vim.lsp.handlers[PUBLISH]
      local result = handler(err, params, ctx)
      if params then
        published(client, params)
      end
      return result
    end,
  })
end

--- Begins to listen to the other servers.
---@param daemon integer The daemon's client id.
function M.start(daemon)
  M.stop()
  state.daemon = daemon
  for _, client in ipairs(vim.lsp.get_clients()) do
    observe(client)
  end
  vim.api.nvim_create_autocmd('LspAttach', {
    group = group,
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client then
        observe(client)
      end
    end,
  })
  vim.api.nvim_create_autocmd('LspNotify', {
    group = group,
    callback = function(event)
      local observed = state.observed[event.data.client_id]
      local document = observed and event.data.params and event.data.params.textDocument
      if document and document.version then
        local buffer = files.buffer_of(document.uri)
        if buffer then
          observed.sent[buffer] = document.version
        end
      end
    end,
  })
end

--- Leaves the other servers as they were.
function M.stop()
  vim.api.nvim_clear_autocmds({ group = group })
  for id, observed in pairs(state.observed) do
    local client = vim.lsp.get_client_by_id(id)
    if client then
      client.handlers[PUBLISH] = observed.original
    end
  end
  state.daemon, state.observed = nil, {}
  news()
  state.waiters = {}
end

---@param item lsp.Diagnostic
---@param buffer integer
---@param from string
---@param to string
---@return lsp.Diagnostic
local function recode(item, buffer, from, to)
  if from == to then
    return item
  end
  ---@param position lsp.Position
  local function convert(position)
    local line = vim.api.nvim_buf_get_lines(buffer, position.line, position.line + 1, false)[1] or ''
    local byte = vim.str_byteindex(line, from, position.character, false)
    return { line = position.line, character = vim.str_utfindex(line, to, byte, false) }
  end
  return vim.tbl_extend('force', item, {
    range = { start = convert(item.range.start), ['end'] = convert(item.range['end']) },
  })
end

---@param buffer integer
---@return vim.lsp.Client[]
local function others(buffer)
  return vim.tbl_filter(function(client)
    return client.id ~= state.daemon
  end, vim.lsp.get_clients({ bufnr = buffer }))
end

---@class copydesk.Question
---@field uri string
---@field buffer integer
---@field version integer
---@field pulled table<integer, copydesk.Report|false> By client id; false: asked, not answered.

--- Asks the servers that are to be asked, for the text as it stands now.
---@param question copydesk.Question
local function pull(question)
  for _, client in ipairs(others(question.buffer)) do
    if client:supports_method(PULL, question.buffer) and question.pulled[client.id] == nil then
      question.pulled[client.id] = false
      local version = vim.lsp.util.buf_versions[question.buffer]
      client:request(PULL, { textDocument = { uri = vim.uri_from_bufnr(question.buffer) } }, function(err, result)
        if not err and result and result.items then
          question.pulled[client.id] = { version = version, items = result.items, encoding = client.offset_encoding }
        else
          question.pulled[client.id] = nil
        end
        news()
      end, question.buffer)
    end
  end
end

--- What is known of the version asked for; nil: not yet.
---@param question copydesk.Question
---@return copydesk.Report[]?
---@return string[]? presumed Servers that do not say of which version they speak.
local function ready(question)
  local reports, presumed = {}, {}
  for _, client in ipairs(others(question.buffer)) do
    local observed = state.observed[client.id]
    local report = question.pulled[client.id]
    if report == nil then
      report = observed and observed.reports[question.buffer] or nil
      if report and (report.version < question.version or report.settles and vim.uv.now() < report.settles) then
        return nil
      end
      -- A server that was never heard may be one that has no diagnostics, here or at all: the others are not held up by it.
      if not report and observed and observed.speaks and not observed.silent[question.buffer] then
        return nil
      end
    elseif report == false then
      return nil
    end
    if report then
      reports[#reports + 1] = report
      if report.settles then
        presumed[#presumed + 1] = client.name
      end
    end
  end
  return #reports > 0 and reports or nil, #presumed > 0 and presumed or nil
end

---@param question copydesk.Question
---@param reports copydesk.Report[]
---@param presumed string[]?
---@param encoding string
---@return table
local function answer_of(question, reports, presumed, encoding)
  local found, version = {}, math.huge
  for _, report in ipairs(reports) do
    version = math.min(version, report.version)
    for _, item in ipairs(report.items) do
      found[#found + 1] = recode(item, question.buffer, report.encoding, encoding)
    end
  end
  return { uri = question.uri, version = version, state = 'ready', presumed = presumed, diagnostics = found }
end

--- Nobody answered in a whole wait: from now on the daemon need not wait for servers that never spoke of this buffer.
---@param question copydesk.Question
local function note_silence(question)
  for _, client in ipairs(others(question.buffer)) do
    local observed = state.observed[client.id]
    if observed and not observed.reports[question.buffer] then
      observed.silent[question.buffer] = true
    end
  end
end

--- Whether nobody looks at the buffer.
---@param buffer integer
---@return boolean
local function is_unavailable(buffer)
  for _, client in ipairs(others(buffer)) do
    local observed = state.observed[client.id]
    if client:supports_method(PULL, buffer) or not (observed and observed.silent[buffer]) then
      return false
    end
  end
  return true
end

--- The answer to `_copydesk/diagnostics`.
---@param params { documents: { uri: string, version: integer? }[], waitMs: integer }
---@param answer fun(result: { documents: table[] })
function M.answer(params, answer)
  local daemon = state.daemon and vim.lsp.get_client_by_id(state.daemon)
  local encoding = daemon and daemon.offset_encoding or 'utf-16'
  local results, questions = {}, {}
  for index, document in ipairs(params.documents) do
    local buffer = files.buffer_of(document.uri)
    if not buffer or not vim.api.nvim_buf_is_loaded(buffer) or is_unavailable(buffer) then
      results[index] = { uri = document.uri, state = 'unavailable', diagnostics = {} }
    else
      questions[index] = {
        uri = document.uri,
        buffer = buffer,
        version = document.version or vim.lsp.util.buf_versions[buffer],
        pulled = {},
      }
    end
  end
  ---@type uv.uv_timer_t?
  local timer
  local finished = false
  local look
  local function finish()
    if finished then
      return
    end
    finished = true
    state.waiters[look] = nil
    if timer and not timer:is_closing() then
      timer:close()
    end
    for index, question in pairs(questions) do
      if not results[index] then
        if params.waitMs > 0 then
          note_silence(question)
        end
        results[index] = { uri = question.uri, state = 'not_ready', diagnostics = {} }
      end
    end
    answer({ documents = results })
  end
  function look()
    local missing = false
    for index, question in pairs(questions) do
      if not results[index] then
        if vim.api.nvim_buf_is_loaded(question.buffer) then
          local reports, presumed = ready(question)
          results[index] = reports and answer_of(question, reports, presumed, encoding) or nil
        else
          results[index] = { uri = question.uri, state = 'unavailable', diagnostics = {} }
        end
        missing = missing or not results[index]
      end
    end
    if not missing then
      finish()
    end
  end
  state.waiters[look] = true
  for _, question in pairs(questions) do
    pull(question)
  end
  look()
  if finished then
    return
  end
  if params.waitMs == 0 then
    finish()
    return
  end
  timer = vim.defer_fn(finish, params.waitMs)
end

return M
