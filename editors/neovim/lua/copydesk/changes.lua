-- What the agent has changed, as the daemon lists it: asked for when there is another list, kept for each session, and decided on. Where the
-- hunks are shown is known by `hunks`; what the user does with them stands in `review`.

local client = require('copydesk.client')
local files = require('copydesk.files')
local hunks = require('copydesk.hunks')

local M = {}

---@class copydesk.FileChanges `FileChanges` of the protocol.
---@field uri string
---@field kind 'created'|'modified'|'deleted'|'moved'
---@field from? string
---@field version? integer Of the open document that the ranges are of.
---@field binary? boolean
---@field added integer
---@field removed integer
---@field hunks copydesk.Hunk[]

---@class copydesk.ChangesResult
---@field files copydesk.FileChanges[]
---@field decided integer[]
---@field undecided { id: integer, why: string, reason: string }[]

---@class copydesk.Listed
---@field files copydesk.FileChanges[]
---@field names table<string, true> The files' URIs and paths.
---@field sent integer Requests that were sent.
---@field taken integer The newest request whose answer was taken.
---@field asking boolean
---@field again boolean The list is another one already.

---@alias copydesk.HunkChoice 'all'|{ files: string[] }|{ hunks: integer[] }

local METHOD = '_copydesk/changes'
--- ACP's code.
local NO_SESSION = -32002

---@type table<string, copydesk.Listed> By session.
local sessions = {}
--- How many hunks are undecided, in all of them.
local undecided_count = 0
--- The text has changed in Insert mode; the list is asked for when it is left.
local typed = false

local group = vim.api.nvim_create_augroup('copydesk.changes', {})

---@param file copydesk.FileChanges
---@return copydesk.Hunk[]
function M.undecided(file)
  return vim.tbl_filter(function(hunk)
    return hunk.state == 'undecided'
  end, file.hunks)
end

--- How many hunks are undecided, in all files.
---@return integer
function M.count()
  return undecided_count
end

--- Calls with each file that has something undecided, session by session.
---@param visit fun(session: string, file: copydesk.FileChanges, undecided: copydesk.Hunk[])
function M.each(visit)
  local ids = vim.tbl_keys(sessions)
  table.sort(ids)
  for _, session in ipairs(ids) do
    for _, file in ipairs(sessions[session].files) do
      local undecided = M.undecided(file)
      if #undecided > 0 then
        visit(session, file, undecided)
      end
    end
  end
end

local function recount()
  undecided_count = 0
  M.each(function(_, _, undecided)
    undecided_count = undecided_count + #undecided
  end)
  require('copydesk.session').changed()
end

---@param session string
local function show(session)
  local daemon = client.current()
  local buffer_of = files.index()
  local shown = {}
  for _, file in ipairs(sessions[session].files) do
    local buffer = buffer_of(file.uri)
    -- A buffer whose file was deleted has no lines that are the agent's.
    if daemon and buffer and file.kind ~= 'deleted' and not file.binary then
      local is_present = vim.lsp.buf_is_attached(buffer, daemon.id)
        and vim.lsp.util.buf_versions[buffer] == file.version
      local undecided = M.undecided(file)
      shown[buffer] = true
      if is_present then
        hunks.place(buffer, session, undecided)
      else
        -- The ranges are of another text; the next list will be of this one.
        hunks.retain(buffer, session, undecided)
      end
    end
  end
  hunks.retain_buffers(session, shown)
  recount()
end

---@param session string
---@param number integer Of the request.
---@param result copydesk.ChangesResult
local function take(session, number, result)
  local listed = sessions[session]
  if not listed then
    return
  end
  if number < listed.taken then
    -- Answered out of turn: which of the two lists is the newer one is not known.
    M.ask(session)
    return
  end
  listed.taken = number
  listed.files, listed.names = result.files, {}
  for _, file in ipairs(result.files) do
    listed.names[file.uri], listed.names[files.path(file.uri)] = true, true
  end
  show(session)
end

--- Whether one of the lists holds the file.
---@param uri string
---@return boolean
local function is_listed(uri)
  local path = files.path(uri)
  for _, listed in pairs(sessions) do
    if listed.names[uri] or listed.names[path] then
      return true
    end
  end
  return false
end

local function ask_all()
  typed = false
  for session in pairs(sessions) do
    M.ask(session)
  end
end

--- The ranges that are known are of a text that the user has changed: the list is asked for when the daemon has been told of it.
local function watch()
  if #vim.api.nvim_get_autocmds({ group = group }) > 0 then
    return
  end
  vim.api.nvim_create_autocmd('LspNotify', {
    group = group,
    callback = function(event)
      local daemon = client.current()
      local data = event.data
      if not daemon or data.client_id ~= daemon.id or data.method ~= 'textDocument/didChange' then
        return
      end
      if not is_listed(data.params.textDocument.uri) then
        return
      end
      -- The marks follow what is typed.
      if vim.api.nvim_get_mode().mode:find('^[iR]') then
        typed = true
      else
        ask_all()
      end
    end,
  })
  vim.api.nvim_create_autocmd('InsertLeave', {
    group = group,
    callback = function()
      if typed then
        ask_all()
      end
    end,
  })
  vim.api.nvim_create_autocmd('BufUnload', {
    group = group,
    callback = function(event)
      M.detached(event.buf)
    end,
  })
end

---@return boolean
function M.is_offered()
  local offer = client.offer()
  return offer ~= nil and vim.list_contains(offer.methods or {}, METHOD)
end

---@param session string
---@return copydesk.Listed
local function listed_of(session)
  local listed = sessions[session]
  if not listed then
    listed = { files = {}, names = {}, sent = 0, taken = 0, asking = false, again = false }
    sessions[session] = listed
    watch()
  end
  return listed
end

--- Asks for the list of a session, one request at a time.
---@param session string
function M.ask(session)
  if not M.is_offered() then
    return
  end
  local listed = listed_of(session)
  if listed.asking then
    listed.again = true
    return
  end
  listed.asking, listed.again = true, false
  listed.sent = listed.sent + 1
  local number = listed.sent
  client.request(METHOD, { sessionId = session }, function(err, result)
    listed.asking = false
    if sessions[session] ~= listed then
      return
    end
    if err and err.code == NO_SESSION then
      sessions[session] = nil
      hunks.retain_buffers(session, {})
      recount()
      return
    elseif not err then
      take(session, number, result)
    end
    if listed.again then
      M.ask(session)
    end
  end)
end

--- `_copydesk/changed`.
---@param params { sessionId: string }
function M.changed(params)
  M.ask(params.sessionId)
end

--- A buffer has been opened, or read again.
---@param buffer integer
function M.attached(buffer)
  if next(sessions) and is_listed(vim.uri_from_bufnr(buffer)) then
    ask_all()
  end
end

--- The buffer is not that document any more.
---@param buffer integer
function M.detached(buffer)
  hunks.forget(buffer)
end

--- Decides on hunks of a session, and takes the list as it is then.
---@param session string
---@param verdict 'accept'|'reject'
---@param choice copydesk.HunkChoice
---@param done fun(err: string?, result: copydesk.ChangesResult?)
function M.decide(session, verdict, choice, done)
  local listed = listed_of(session)
  listed.sent = listed.sent + 1
  local number = listed.sent
  client.request(METHOD, { sessionId = session, [verdict] = choice }, function(err, result)
    if err then
      done(err.message, nil)
      return
    end
    take(session, number, result)
    done(nil, result)
  end)
end

--- The daemon is gone, and with it what it listed.
function M.clear()
  sessions = {}
  undecided_count = 0
  typed = false
  vim.api.nvim_clear_autocmds({ group = group })
  hunks.forget_all()
end

return M
