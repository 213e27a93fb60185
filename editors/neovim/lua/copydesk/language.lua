-- `_copydesk/language`: hands a request on to one of the other language servers of a buffer, and its answer back.
-- Positions that are sent are converted to the server's columns; those of the answer stay the server's, which the answer names.
-- What a command of a server wants to be edited is the answer, and is not made here.

local files = require('copydesk.files')
local log = require('copydesk.log')

local M = {}

local APPLY = 'workspace/applyEdit'
local EXECUTE = 'workspace/executeCommand'

---@class copydesk.Command One of ours that a server has not answered yet.
---@field edits table[] What it wants to be edited so far.
---@field awaited boolean Somebody waits for them.
---@field muddled boolean The user runs a command of the same server: nobody can tell whose an edit is.
---@field watch integer? The autocommand that sees that.
---@field original lsp.Handler? The client's own handler.

---@type table<integer, copydesk.Command> By client id.
local commands = {}

--- Requests that follow another one, whose method says whether a server knows them.
local follows = {
  ['callHierarchy/incomingCalls'] = 'textDocument/prepareCallHierarchy',
  ['callHierarchy/outgoingCalls'] = 'textDocument/prepareCallHierarchy',
  ['codeAction/resolve'] = 'textDocument/codeAction',
}

---@param position lsp.Position
---@param buffer integer
---@param from string
---@param to string
---@return lsp.Position
local function converted(position, buffer, from, to)
  if from == to then
    return position
  end
  local line = vim.api.nvim_buf_get_lines(buffer, position.line, position.line + 1, false)[1] or ''
  local byte = vim.str_byteindex(line, from, position.character, false)
  return { line = position.line, character = vim.str_utfindex(line, to, byte, false) }
end

--- The first server that knows the method, or the one that is named.
---@param buffer integer
---@param method string
---@param name string?
---@param daemon integer The daemon's client id.
---@return vim.lsp.Client?
local function server_of(buffer, method, name, daemon)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buffer })) do
    local is_meant = client.id ~= daemon and (not name or client.name == name)
    if is_meant and client:supports_method(follows[method] or method, buffer) then
      return client
    end
  end
end

--- What the server has said of the lines in question, for code actions.
---@param client vim.lsp.Client
---@param buffer integer
---@param range lsp.Range
---@return lsp.Diagnostic[]
local function problems(client, buffer, range)
  local found = {}
  for _, is_pull in ipairs({ false, true }) do
    local namespace = vim.lsp.diagnostic.get_namespace(client.id, is_pull)
    for _, shown in ipairs(vim.diagnostic.get(buffer, { namespace = namespace })) do
      if shown.lnum <= range['end'].line and (shown.end_lnum or shown.lnum) >= range.start.line then
        found[#found + 1] = shown
      end
    end
  end
  return vim.lsp.diagnostic.from(found)
end

--- The versions of the open documents that an edit names.
---@param edit table?
---@return { uri: string, version: integer }[]
local function versions(edit)
  local found = {}
  ---@param uri string
  local function add(uri)
    -- A server may send anything for a URI; what is none names no document.
    local is_uri, buffer = pcall(files.buffer_of, uri)
    if is_uri and buffer and vim.api.nvim_buf_is_loaded(buffer) then
      found[#found + 1] = { uri = uri, version = vim.lsp.util.buf_versions[buffer] }
    end
  end
  if type(edit) ~= 'table' then
    return found
  end
  for uri in pairs(edit.changes or {}) do
    add(uri)
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then
      add(change.textDocument.uri)
    end
  end
  return found
end

---@param client vim.lsp.Client
---@return boolean
local function user_runs_command(client)
  for _, request in pairs(client.requests) do
    if request.type ~= 'complete' and request.method == EXECUTE then
      return true
    end
  end
  return false
end

--- Takes what the server wants to be edited from now on.
---@param client vim.lsp.Client
---@return copydesk.Command
local function take_edits(client)
  ---@type copydesk.Command
  local command = { edits = {}, awaited = true, muddled = false, original = client.handlers[APPLY] }
  commands[client.id] = command
  -- A table of its own: the client's may be the user's configuration.
  client.handlers = vim.tbl_extend('force', client.handlers, {
    [APPLY] = function(_, params)
      if not command.muddled and command.awaited then
        command.edits[#command.edits + 1] = params.edit
        return { applied = true }
      end
      if command.muddled then
        -- Of ours it may be one that was never shown, whoever runs what by now.
        local advice = command.awaited and 'ask it again' or 'it has not come to an end with an earlier command, restart it'
        log.tell(client.name .. ' edits for two at once: nothing was changed, ' .. advice, vim.log.levels.WARN)
      end
      return { applied = false, failureReason = 'nobody has asked for it' }
    end,
  })
  return command
end

--- Sees whether the user runs a command of the server too, until `leave_edits`.
---@param client vim.lsp.Client
---@param command copydesk.Command
local function watch_user(client, command)
  command.watch = vim.api.nvim_create_autocmd('LspRequest', {
    callback = function(event)
      local request = event.data.request
      if event.data.client_id == client.id and request.type == 'pending' and request.method == EXECUTE then
        command.muddled = true
      end
    end,
  })
end

---@param client vim.lsp.Client
---@param command copydesk.Command
local function leave_edits(client, command)
  client.handlers[APPLY] = command.original
  commands[client.id] = nil
  if command.watch then
    vim.api.nvim_del_autocmd(command.watch)
  end
end

--- Why a command cannot be run now, as the answer.
---@param client vim.lsp.Client
---@return table?
local function obstacle(client)
  local earlier = commands[client.id]
  if earlier and not earlier.awaited then
    local text = 'it has not come to an end with an earlier command; restart it, or make the change yourself'
    return { state = 'failed', result = text }
  end
  if earlier or user_runs_command(client) then
    return { state = 'not_ready' }
  end
end

--- The answer to `_copydesk/language`.
---@param params { document: { uri: string, version: integer? }, method: string, params: table, server: string?, waitMs: integer }
---@param daemon vim.lsp.Client
---@param answer fun(result: table)
function M.answer(params, daemon, answer)
  local buffer = files.buffer_of(params.document.uri)
  local client = buffer
    and vim.api.nvim_buf_is_loaded(buffer)
    and server_of(buffer, params.method, params.server, daemon.id)
  if not buffer or not client then
    answer({ state = 'unavailable' })
    return
  end
  local version = params.document.version
  if version and vim.lsp.util.buf_versions[buffer] ~= version then
    answer({ state = 'not_ready', server = client.name })
    return
  end
  local sent = params.params
  local from, to = daemon.offset_encoding, client.offset_encoding
  if sent.position then
    sent.position = converted(sent.position, buffer, from, to)
  end
  -- A range stands in an item of an earlier answer too, and is the server's own there.
  if sent.range and params.method == 'textDocument/codeAction' then
    sent.context.diagnostics = problems(client, buffer, sent.range)
    sent.range = {
      start = converted(sent.range.start, buffer, from, to),
      ['end'] = converted(sent.range['end'], buffer, from, to),
    }
  end
  local finished = false
  ---@type integer?
  local id
  ---@param result table
  local function finish(result)
    if not finished then
      finished = true
      result.server, result.positionEncoding = client.name, client.offset_encoding
      answer(result)
    end
  end
  ---@type copydesk.Command?
  local command
  if params.method == EXECUTE then
    local why = obstacle(client)
    if why then
      finish(why)
      return
    end
    command = take_edits(client)
  end
  local timer = vim.defer_fn(function()
    if command then
      -- Not cancelled: a server that is may answer at once, and ask for its edit all the same.
      command.awaited = false
      if client:is_stopped() then
        -- Its answer never comes.
        leave_edits(client, command)
      end
      finish({ state = 'failed', result = 'its command did not come to an end; make the change yourself' })
      return
    end
    if not finished and id then
      client:cancel_request(id)
    end
    finish({ state = 'not_ready' })
  end, params.waitMs)
  local is_sent
  is_sent, id = client:request(params.method, sent, function(err, result)
    if not timer:is_closing() then
      timer:close()
    end
    if command then
      leave_edits(client, command)
      if command.muddled then
        finish({ state = 'not_ready' })
        return
      end
    end
    if err then
      finish({ state = 'failed', result = err.message })
      return
    end
    if command then
      local named = {}
      for _, edit in ipairs(command.edits) do
        vim.list_extend(named, versions(edit))
      end
      finish({ state = 'ready', result = command.edits, versions = named })
      return
    end
    -- An edit, alone or in a code action.
    local edit = type(result) == 'table' and (result.edit or result) or nil
    finish({ state = 'ready', result = result == nil and vim.NIL or result, versions = versions(edit) })
  end, buffer)
  if command and commands[client.id] == command then
    if is_sent then
      watch_user(client, command)
    else
      leave_edits(client, command)
    end
  end
  if not is_sent then
    finish({ state = 'unavailable' })
  end
end

return M
